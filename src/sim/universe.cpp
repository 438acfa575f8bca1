// SPDX-License-Identifier: MIT
// Relaxed: what one thread does.
#include "sim/universe.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/sys.hpp"
#include "io/kernel.hpp"
#include "sched/deadlock.hpp"
#include "sched/dispatch.hpp"
#include "sched/dump.hpp"
#include "sched/io.hpp"
#include "sched/park.hpp"
#include "sched/runtime_core.hpp"
#include "sched/scope.hpp"
#include "sched/strand.hpp"
#include "weft/detail/payload_ops.hpp"
#include "weft/detail/point.hpp"
#include "weft/dump.hpp"
#include "weft/runtime.hpp"

namespace weft::inline v0::detail {
namespace {

// Points are on while some run of the process goes on.
class PointsOn {
 public:
  PointsOn() { change(1); }
  ~PointsOn() { change(-1); }
  PointsOn(const PointsOn&) = delete;
  PointsOn& operator=(const PointsOn&) = delete;

 private:
  static void change(int by) {
    static seam::Mutex mutex;
    static int runs = 0;
    const std::lock_guard guard(mutex);
    runs += by;
    points_are_on = runs != 0;
    turn_mask = runs != 0 ? 0 : 63;
  }
};

RuntimeOptions options_for(const Choices& choices) {
  RuntimeOptions options;
  options.workers = 1;
  options.max_workers = 1;
  options.policy = RuntimeOptions::Policy::global;
  options.clock = RuntimeOptions::Clock::virtual_;
  options.sysmon = false;
  options.in_place = false;
  options.seed = choices.seed() * 2 + 1;  // 0 would be a random one
  return options;
}

const char host_key = 0;

// ENOSYS, and why, once.
long refuse_real(const std::string& why) {
  static seam::Atomic<bool> told{false};
  if (!told.exchange(true)) sys::write_all(2, "weft::sim: a simulation was asked for the impossible: " + why + "\n");
  return -ENOSYS;
}

// What does not stop cannot be cleaned up: its stacks stay, with all that they hold [SIM-2].
void keep_abandoned(std::unique_ptr<Runtime> runtime, Task<void> main) {
  static auto& kept = *new std::vector<std::pair<std::unique_ptr<Runtime>, Task<void>>>;
  static seam::Mutex mutex;
  runtime->core().director = nullptr;
  forget_runtime(runtime->core());
  const std::lock_guard guard(mutex);
  kept.emplace_back(std::move(runtime), std::move(main));
}

sim::Options checked(sim::Options options) {
  if (options.workers == 0) throw std::invalid_argument("sim: without workers nothing runs");
  return options;
}

std::string dump_of(const RuntimeCore& runtime) {
  std::size_t count = 0;
  return dump_runtime(runtime, count);
}

}  // namespace

Universe* universe_here() noexcept {
  return dynamic_cast<Universe*>(director_here());
}

DynBinding host_binding(std::string_view name) {
  return {&host_key, Payload::make<std::string>(std::string(name))};
}

HostNumber Universe::host_here() {
  const Payload* name = find_binding(&host_key);
  return name != nullptr && !name->empty() ? network_.host(name->as<std::string>()) : 0;
}

Universe::Universe(const ChoicePlan& plan, const sim::Options& options)
    : options_(checked(options)),
      choices_(plan),
      strategy_(plan.seed, options_, choices_.random(ChoiceStream::schedule)),
      step_limit_(options.max_steps),
      network_(*this, agenda_, descriptors_, options_.network) {
  (void)network_.host("main");
}

Universe::~Universe() = default;

void Universe::run(const std::function<void()>& f) {
  if (this_worker() != nullptr) refuse_nested_run();
  const PointsOn points;
  auto runtime = std::make_unique<Runtime>(options_for(choices_));
  runtime_ = &runtime->core();
  runtime_->director = this;
  runtime_->options.migration_check = false;  // whatever the environment says: there is no other worker
  const std::uint64_t undelivered = undelivered_values();
  Task<void> main = runtime->go(
      [this, &f] {
        try {
          f();
        } catch (const sim::CheckFailed& failed) {
          fail(sim::Failure::check, failed.what());
        } catch (const Cancelled& cancelled) {
          if (!asked_ && (!cancelled_ || victim_only_)) fail(sim::Failure::exception, cancelled.what());
        } catch (...) {
          fail(sim::Failure::exception, describe_exception(std::current_exception()));
        }
      },
      {.name = "f"});
  main_ = main.core();
  drive_directed(*runtime_);
  time_ = time_of(*runtime_);
  if (abandoned_) return keep_abandoned(std::move(runtime), std::move(main));
  if (stranger_.load(std::memory_order_relaxed))
    fail(sim::Failure::thread,
         "a thread outside of the simulation has woken a task of it: when it comes no seed can tell");
  if (runtime->detached_failures() != 0) fail(sim::Failure::exception, "a detached task failed, see stderr");
  look_for_leaks(undelivered_values() - undelivered);
  main = Task<void>();
  runtime_->director = nullptr;
}

void Universe::look_for_leaks(std::uint64_t undelivered) {
  if (undelivered != 0 && !options_.values_may_stay && !asked_ && !cancelled_)
    fail(sim::Failure::leak, std::to_string(undelivered) + " values were sent and received by nobody");
  for (const auto& [name, count] : held_)
    if (count != 0) fail(sim::Failure::leak, "\"" + name + "\" is held " + std::to_string(count) + " times at the end");
  if (descriptors_.all().empty()) return;
  std::string open;
  for (const auto& [fd, node] : descriptors_.all()) open += (open.empty() ? "" : ", ") + node->about();
  fail(sim::Failure::leak, "still open: " + open);
}

void Universe::fail(sim::Failure failure, std::string text) {
  if (failure_ != sim::Failure::none) return;
  failure_ = failure;
  text_ = std::move(text);
  trace_.add(SimTrace::fails, static_cast<std::uint64_t>(failure));
}

std::uint32_t Universe::number_of(const TaskCore& task) {
  const auto [found, fresh] = numbers_.try_emplace(task.id, static_cast<std::uint32_t>(known_.size()));
  if (fresh) {
    Known known;
    if (task.name != nullptr) known.name = task.name;
    known.file = task.site.file_name();
    known.line = task.site.line();
    trace_.add(SimTrace::begins, found->second, 0, 0, known.name);
    known_.push_back(std::move(known));
  }
  return found->second;
}

std::uint32_t Universe::number_of(Entry entry) {
  if (entry.kind() == entry_task) return number_of(*entry.as<TaskCore>());
  // A piece of par, or a strand: whoever runs then gets its own number.
  const auto number = static_cast<std::uint32_t>(known_.size());
  known_.push_back({entry.kind() == entry_strand ? "a strand" : "a piece of par", "", 0});
  trace_.add(SimTrace::begins, number, 0, 0, known_.back().name);
  return number;
}

std::string Universe::name_of(std::uint32_t number) const {
  const Known& known = known_[number];
  std::string text = "task " + std::to_string(number);
  if (!known.name.empty()) text += " \"" + known.name + "\"";
  if (known.line != 0) {
    const std::string_view file = known.file;
    text += " (" + std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(known.line) + ")";
  }
  return text;
}

void Universe::gather(Worker& worker) {
  const auto add = [&](Entry entry) { able_.push_back({entry, number_of(entry)}); };
  while (const Entry entry = runtime_->global.pop()) add(entry);
  while (const Entry entry = worker.pinned.pop()) add(entry);
  while (const Entry entry = worker.pop_inbox()) add(entry);
  while (const Entry entry = worker.deque.take_oldest()) add(entry);  // pieces of par: nobody else takes them
}

void Universe::tell(ChoiceStream stream, std::uint32_t left, std::uint32_t taken, const char* what,
                    std::string_view name) {
  told_.push_back({stream, choices_.taken().back().index, left, taken, what, std::string(name)});
}

std::size_t Universe::decide(const Candidates& candidates, bool at_point) {
  if (++steps_ > step_limit_) give_up_steps();
  if (candidates.count < 2) return 0;
  const std::uint64_t chosen = choices_.take(ChoiceStream::schedule, candidates.count, [&] {
    return std::uint64_t{at_point ? strategy_.at_point(candidates) : strategy_.at_leave(candidates)};
  });
  trace_.add(SimTrace::chooses, static_cast<std::uint64_t>(ChoiceStream::schedule), chosen, candidates.count);
  return static_cast<std::size_t>(chosen);
}

void Universe::give_up_steps() {
  if (!asked_) {
    fail(sim::Failure::livelock, "it still runs after " + std::to_string(options_.max_steps) +
                                     " steps (Options::max_steps)\n" + dump_of(*runtime_));
    asked_ = true;
    step_limit_ += options_.max_steps;
    if (!main_over_) request_task(*main_, CancelReason::user);
  } else {
    abandoned_ = true;
  }
}

Universe::Standing Universe::take_candidate(std::size_t index) {
  Standing taken;
  if (index < running_.size()) {
    taken = running_[index];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  } else {
    index -= running_.size();
    taken = able_[index];
    able_.erase(able_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return taken;
}

bool Universe::leaves_at(TaskCore& task, const char* what) noexcept {
  if (options_.workers < 2) {
    if (++steps_ > step_limit_) give_up_steps();
    return abandoned_;
  }
  gather(static_cast<Worker&>(*this_worker()));
  const std::uint32_t self = number_of(task);
  const bool free = running_.size() + 1 < options_.workers;
  const std::function<std::uint32_t(std::size_t)> number = [&](std::size_t i) {
    if (i == 0) return self;
    return i <= running_.size() ? running_[i - 1].number : able_[i - 1 - running_.size()].number;
  };
  const std::size_t count = 1 + running_.size() + (free ? able_.size() : 0);
  const std::size_t chosen = decide({count, number}, true);
  if (abandoned_) return true;
  if (chosen == 0) return false;
  decided_ = take_candidate(chosen - 1);
  tell(ChoiceStream::schedule, self, decided_.number, what);
  running_.push_back({Entry(&task, entry_task), self});
  return true;
}

bool Universe::ended() {
  if (!main_over_ && has_ended(main_)) {
    main_over_ = true;
    if (!runtime_->live.none_alive()) {
      const std::uint64_t left = runtime_->live.started_total() - runtime_->live.finished_total();
      if (!options_.tasks_may_stay && !asked_)
        fail(sim::Failure::leak,
             std::to_string(left) + (left == 1 ? " task is" : " tasks are") + " left:\n" + dump_of(*runtime_));
      request_scope(runtime_->root_scope, CancelReason::shutdown);
    }
  }
  return abandoned_ || (main_over_ && runtime_->live.none_alive());
}

bool Universe::move_time() {
  if (runtime_->settling.anybody()) {
    for (const ParkToken& park : runtime_->settling.take_all()) give_permit(park);
    return true;
  }
  const std::int64_t deadline = runtime_->virtual_time->earliest();
  const std::int64_t event = agenda_.earliest();
  if (deadline == seam::no_deadline && event == seam::no_deadline) return false;
  const std::int64_t before = now();
  if (event <= deadline) {
    runtime_->virtual_time->move_to(event);
    if (now() != before) trace_.add(SimTrace::time, static_cast<std::uint64_t>(now()));
    while (agenda_.earliest() <= now()) agenda_.do_next();
    return true;
  }
  Chain due;
  std::size_t count = 0;
  (void)runtime_->virtual_time->step(seam::no_deadline, due, count);
  while (const Entry entry = due.pop_front()) inject(*runtime_, entry);
  trace_.add(SimTrace::time, static_cast<std::uint64_t>(now()));
  return true;
}

void Universe::stuck() {
  const std::string waits = waits_of(*runtime_);
  if (!main_over_ && !asked_) {
    if (cancelled_) {
      fail(sim::Failure::hang, "asked to stop, and nothing can run any more; " + waits);
    } else {
      fail(sim::Failure::deadlock, "deadlock: nothing can run any more; " + waits);
    }
    asked_ = true;
    return request_task(*main_, CancelReason::deadlock);
  }
  if (failure_ == sim::Failure::none) {
    fail(sim::Failure::hang, "asked to stop, and nothing can run any more; " + waits);
  } else {
    text_ += "\nand asked to stop it would not: " + waits;
  }
  abandoned_ = true;
}

Entry Universe::next(Worker& worker) {
  Standing chosen = std::exchange(decided_, {});
  while (!chosen.entry) {
    gather(worker);
    if (ended()) return {};
    // Those who only yield to each other wait for something: their time passes, too [SIM-3].
    if (yields_ > 100 + 4 * able_.size()) {
      yields_ = 0;
      if (move_time()) continue;
    }
    const std::size_t count = running_.size() + (running_.size() < options_.workers ? able_.size() : 0);
    if (count == 0) {
      if (!move_time()) stuck();
      continue;
    }
    const std::function<std::uint32_t(std::size_t)> number = [&](std::size_t i) {
      return i < running_.size() ? running_[i].number : able_[i - running_.size()].number;
    };
    const std::uint32_t usual = number(0);
    const std::size_t index = decide({count, number}, false);
    if (abandoned_) return {};
    chosen = take_candidate(index);
    if (index != 0) tell(ChoiceStream::schedule, usual, chosen.number, nullptr);
  }
  if (abandoned_) return {};
  trace_.add(SimTrace::goes_on, chosen.number);
  return chosen.entry;
}

void Universe::count_cancel(std::uint32_t number, const char* kind) {
  if (main_over_ || cancelled_) return;
  if (victim_ != nullptr) ++victim_points_;
  const std::uint64_t point = victim_only_ ? (victim_ != nullptr ? victim_points_ : 0) : suspensions_;
  if (cancel_at_ == 0 || point != cancel_at_) return;
  cancelled_ = true;
  cancelled_where_ = name_of(number) + " at " + kind;
  if (victim_only_) {
    request_scope(*victim_, CancelReason::user);
  } else {
    request_task(*main_, CancelReason::user);
  }
}

bool Universe::run_victim(const std::function<void()>& f) {
  victim_used_ = true;
  ScopeGuard guard(0, seam::no_deadline);
  victim_ = &guard.core();
  struct Over {
    ~Over() { universe->victim_ = nullptr; }
    Universe* universe;
  } over{this};
  try {
    f();
  } catch (const Cancelled& cancelled) {
    if (!guard.owns(cancelled)) throw;
    return false;
  }
  return true;
}

void Universe::at_suspension(TaskCore& task, const char* kind) noexcept {
  ++suspensions_;
  const std::uint32_t number = number_of(task);
  trace_.add(SimTrace::waits, number, 0, 0, kind);
  count_cancel(number, kind);
  if (std::string_view(kind) == "yield") {
    strategy_.yields(number);
    ++yields_;
  } else {
    yields_ = 0;
  }
}

IoResult Universe::submit(IoRequest& request) {
  come_to_point(to_string(request.op));
  if (way_of(request.op) != IoWay::at_once) {
    if (!request.quiet) {
      look_here(to_string(request.op));
    } else {
      TaskCore& task = *task_here();
      at_suspension(task, to_string(request.op));
      if (cancel_due(task)) return IoResult::failed(ECANCELED);
    }
  }
  const int fd = request.fd;
  const long result = perform(request);
  trace_.add(SimTrace::answer, static_cast<std::uint64_t>(std::int64_t{fd}),
             static_cast<std::uint64_t>(std::int64_t{result}), 0, to_string(request.op));
  return IoResult(result);
}

long Universe::perform(IoRequest& request) {
  switch (request.op) {
    case IoOp::socket:
      return network_.open(host_here(), request);
    case IoOp::pair:
      return network_.pair(host_here(), request);
    case IoOp::open:
    case IoOp::remove:
    case IoOp::rename:
    case IoOp::make_dir:
      return disk_of(host_here()).perform_path(request);
    case IoOp::resolve:
      return network_.resolve(host_here(), request);
    case IoOp::spawn:
      return refuse_real("child processes do not exist there");
    case IoOp::task:
      return -EINVAL;
    default:
      break;
  }
  const SimNodeRef node = descriptors_.find(request);
  if (node == nullptr) {
    if (request.fd < 0 || request.fd >= SimDescriptors::base) return -EBADF;
    // What a program says. What becomes of it is the real world's: the answer is the same in each run.
    if ((request.fd == 1 || request.fd == 2) && request.op == IoOp::write) {
      const std::string bytes = bytes_of(request);
      (void)sys::write_all(request.fd, bytes);
      return static_cast<long>(bytes.size());
    }
    return refuse_real("descriptor " + std::to_string(request.fd) + " is one of the real world");
  }
  if (request.op == IoOp::close) return descriptors_.remove(request.fd) ? 0 : -EBADF;
  if (const auto socket = std::dynamic_pointer_cast<SimSocket>(node)) return network_.perform(socket, request);
  return static_cast<SimFile&>(*node).perform(request);
}

Disk& Universe::disk_of(HostNumber host) {
  std::unique_ptr<Disk>& disk = disks_[host];
  if (disk == nullptr) disk = std::make_unique<Disk>(*this, descriptors_, options_.files);
  return *disk;
}

std::int64_t Universe::now() const {
  return runtime_->virtual_time->now();
}

template <class Draw>
std::uint64_t Universe::take(ChoiceStream stream, std::uint64_t limit, std::string_view what, Draw&& draw) {
  const std::uint64_t value = choices_.take(stream, limit, draw);
  trace_.add(SimTrace::chooses, static_cast<std::uint64_t>(stream), value, limit, what);
  if (value != 0) tell(stream, 0, static_cast<std::uint32_t>(value), nullptr, what);
  return value;
}

bool Universe::strikes(ChoiceStream stream, double probability, std::string_view what) {
  if (probability <= 0) return false;
  return take(stream, 2, what, [&] { return std::uint64_t{draw_chance(choices_.random(stream), probability)}; }) != 0;
}

std::int64_t Universe::between(ChoiceStream stream, std::int64_t low, std::int64_t high, std::string_view what) {
  constexpr std::uint64_t steps = 16;
  if (high <= low) return low;
  const std::uint64_t step = take(stream, steps, what, [&] { return choices_.random(stream).below(steps); });
  return low + (high - low) / static_cast<std::int64_t>(steps - 1) * static_cast<std::int64_t>(step);
}

std::size_t Universe::part(ChoiceStream stream, double probability, std::size_t most, std::string_view what) {
  if (probability <= 0 || most < 2) return most;
  Random& random = choices_.random(stream);
  const std::uint64_t less = take(stream, most, what, [&] {
    return draw_chance(random, probability) ? 1 + random.below(most - 1) : std::uint64_t{0};
  });
  return most - static_cast<std::size_t>(less);
}

void Universe::woken_from_outside() noexcept {
  stranger_.store(true, std::memory_order_relaxed);  // by another thread: nothing else may be touched
}

bool Universe::fault(std::string_view name, double probability) {
  return strikes(ChoiceStream::fault, probability, name);
}

std::uint64_t Universe::choose(std::uint64_t count) {
  if (count < 2) return 0;
  return take(ChoiceStream::user, count, "choose", [&] { return choices_.random(ChoiceStream::user).below(count); });
}

void Universe::hold(std::string_view name, std::int64_t by) {
  const auto found = held_.find(name);
  if (found != held_.end()) {
    found->second += by;
  } else {
    held_.emplace(name, by);
  }
}

sim::Report Universe::report() const {
  sim::Report report;
  report.failure = failure_;
  report.text = text_;
  report.seed = choices_.seed();
  report.hash = trace_.hash();
  report.steps = steps_;
  report.suspensions = suspensions_;
  report.abandoned = abandoned_;
  report.time = std::chrono::nanoseconds(time_);
  if (options_.keep_trace) report.trace = trace_.text();
  report.replay = ChoicePlan{choices_.seed(), choices_.taken()}.text();
  if (failure_ == sim::Failure::none && !choices_.replays()) return report;
  for (const Told& each : told_) {
    std::string line = std::string(to_string(each.stream)) + " " + std::to_string(each.index) + ": ";
    if (each.stream == ChoiceStream::schedule) {
      line += each.what != nullptr ? name_of(each.left) + " is interrupted at " + each.what + ", "
                                   : "not " + name_of(each.left) + " but ";
      line += name_of(each.taken) + " goes on";
    } else {
      line += each.name;
      if (each.taken != 1 || each.stream == ChoiceStream::user) line += " " + std::to_string(each.taken);
    }
    report.schedule.push_back(std::move(line));
  }
  return report;
}

}  // namespace weft::inline v0::detail

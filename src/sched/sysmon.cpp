// SPDX-License-Identifier: MIT
// Relaxed: everything that sysmon looks at is a hint: ticks, states, sizes, times. What it then does is done by a lock
// or a protocol of the thing itself; all is correct without it.
#include "sched/sysmon.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>

#include "base/sys.hpp"
#include "fiber/stack_pool.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/dispatch.hpp"
#include "sched/hand_over.hpp"
#include "sched/records.hpp"
#include "sched/search.hpp"
#include "sched/task_view.hpp"
#include "sched/thread_probe.hpp"
#include "sched/thread_stack.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t longest_nap = Pace::longest_nap;
constexpr unsigned quiet_before_sleep = 24;  // 250 us doubled to 10 ms, then some: about 200 ms
constexpr std::size_t kept_stalls = 64;
constexpr unsigned stacks_per_site = 4;  // each disturbs a thread by a signal
constexpr std::size_t most_sites = 256;
constexpr unsigned most_questions = 16;
constexpr std::int64_t stack_patience = 2 * ms;  // whoever waits for a replacement waits for this, too

bool has_no_thread(WorkerState state) {
  return state == WorkerState::unborn || state == WorkerState::dead;
}

PressureGate::Limits limits_of(const RuntimeOptions& options) {
  PressureGate::Limits limits;
  limits.scale_interval_ns = options.scale_interval.count();
  limits.max_workers = options.max_workers;
  return limits;
}

// Names for addresses may take a hundred milliseconds the first time, so somebody else finds them.
struct PrintJob : BlockingPool::Job {
  StallReport report;
};
void print_later(RuntimeCore& runtime, const StallReport& report) {
  auto* job = new PrintJob;
  job->report = report;
  job->run = [](BlockingPool::Job* base) {
    const std::unique_ptr<PrintJob> mine(static_cast<PrintJob*>(base));
    sys::write_all(2, "weft: " + to_string(mine->report));
  };
  if (!runtime.blocking_pool().submit(*job)) delete job;
}

}  // namespace

Sysmon::Sysmon(RuntimeCore& runtime)
    : runtime_(runtime),
      period_(runtime.options.sysmon_period.count()),
      stall_after_(runtime.options.stall_after.count()),
      temp_idle_(runtime.options.temp_idle_timeout.count()),
      watches_(runtime.options.max_workers),
      gate_(limits_of(runtime.options)) {}

Sysmon::~Sysmon() {
  stop();
}

bool Sysmon::start() {
  try {
    thread_ = seam::Thread::start("weft-sysmon", [this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Sysmon::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  ring();
  thread_.join();
}

void Sysmon::ring() {
  bell_.fetch_add(1, std::memory_order_release);
  seam::futex_wake(bell_, 1);
}

void wake_sysmon(RuntimeCore& runtime) {
  if (runtime.sysmon != nullptr) runtime.sysmon->ring();
}

void Sysmon::run() {
  begin_keeping_stacks();
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t heard = bell_.load(std::memory_order_acquire);
    look(seam::monotonic_ns());
    drop_thread_task();  // who was woken here was not woken by the program
    rest(heard);
  }
  end_keeping_stacks();
  for (Watch& seen : watches_) close_report(seen);
}

void Sysmon::look(std::int64_t now) {
  ++looks_;
  stuck_ = 0;
  PressureSample sample;
  sample.now_ns = now;
  sample.base_workers = runtime_.options.workers;
  sample.queued = static_cast<std::int64_t>(runtime_.global.size());
  const unsigned count = runtime_.worker_count.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) look_at(runtime_.worker(i), now, sample);
  reap(now);
  sample.stuck = stuck_;
  sample.active = runtime_.idle.active();
  sample.sleepers = runtime_.idle.sleepers();
  PressureGate::Verdict verdict;
  {
    const std::lock_guard guard(mutex_);
    verdict = gate_.decide(sample);
  }
  if (verdict == PressureGate::Verdict::pass) add_worker(now);
  if (sample.active >= sample.workers) surplus_since_ = now;
  if (now - surplus_since_ >= temp_idle_) {
    retire_surplus();
    surplus_since_ = now;
  }
  // With long slices the next full look of a busy worker may be far away.
  if (!runtime_.global.empty() && sample.sleepers == 0) {
    for (unsigned i = 0; i < count; ++i) runtime_.worker(i).want_look();
  }
}

void Sysmon::look_at(Worker& worker, std::int64_t now, PressureSample& sample) {
  const WorkerState state = worker.state.load(std::memory_order_acquire);
  sample.queued += static_cast<std::int64_t>(worker.deque.size() + worker.ready.size()) +
                   worker.inbox_size.load(std::memory_order_relaxed);
  if (has_no_thread(state)) return look_at_empty(worker, now);
  ++sample.workers;
  Watch& seen = watches_[worker.index];
  watch_progress(worker, seen, state, now);
  watch_timers(worker, seen, state, now);
  if (worker.stuck.load(std::memory_order_relaxed)) {
    ++stuck_;
    counters_.rescues += rescue_queues(runtime_, worker);
  }
  if (worker.temporary && state == WorkerState::sleep && now - seen.busy_at >= temp_idle_) retire(worker);
}

// A place without a thread: one that was given up, or worker 0 between two runs.
void Sysmon::look_at_empty(Worker& worker, std::int64_t now) {
  if (worker.temporary && worker.thread.joinable()) {
    worker.thread.join();  // it has said DEAD: a few instructions more
    ++retired_;
  }
  (void)rescue_inbox(runtime_, worker);
  if (worker.next_timer.load(std::memory_order_relaxed) <= now) fire(worker, now);
}

void Sysmon::watch_progress(Worker& worker, Watch& seen, WorkerState state, std::int64_t now) {
  const std::uint64_t tick = worker.moves();
  const bool in_task = state == WorkerState::active && worker.here.load(std::memory_order_relaxed) != nullptr;
  if (state == WorkerState::active || tick != seen.tick) seen.busy_at = now;
  if (!in_task || tick != seen.tick) {
    seen.tick = tick;
    seen.since = now;
    seen.in_kernel = 0;
    seen.told_blocked = seen.told_computing = false;
    if (seen.open != nullptr) close_report(seen);
    if (worker.stuck.load(std::memory_order_relaxed)) worker.stuck.store(false, std::memory_order_relaxed);
    return;
  }
  if (now - seen.since < stall_after_ || now < seen.next_probe) return;
  seen.next_probe = now + std::max(period_, stall_after_ / 8);
  if (probe_thread(worker.thread_id.load(std::memory_order_relaxed)) == ThreadActivity::in_syscall) {
    if (++seen.in_kernel < 2) return;  // once may be a page that was not there
    seen.in_kernel = 2;
    worker.stuck.store(true, std::memory_order_relaxed);
    if (!std::exchange(seen.told_blocked, true))
      open_report(worker, seen, StallReport::Kind::blocked, now - seen.since);
  } else if (seen.in_kernel > 0) {
    if (--seen.in_kernel == 0) worker.stuck.store(false, std::memory_order_relaxed);  // once may be our own signal
  } else if (!seen.told_blocked && !std::exchange(seen.told_computing, true)) {
    open_report(worker, seen, StallReport::Kind::computing, now - seen.since);
  }
  if (seen.open != nullptr) complete_report(worker, seen);
}

void Sysmon::watch_timers(Worker& worker, Watch& seen, WorkerState state, std::int64_t now) {
  const bool looked = worker.now.load(std::memory_order_relaxed) != seen.now;
  const std::int64_t due = worker.next_timer.load(std::memory_order_relaxed);
  // A sleeper wakes by itself, and somebody who looks fires for himself.
  if (due <= now && (state == WorkerState::active ? !looked : now - due > 2 * period_)) fire(worker, now);
  if (!looked) worker.now.store(now, std::memory_order_relaxed);
  seen.now = worker.now.load(std::memory_order_relaxed);
}

void Sysmon::fire(Worker& owner, std::int64_t now) {
  Chain woken;
  carries_.store(true, std::memory_order_relaxed);
  counters_.rescues += fire_wheel(owner, false, now, counters_, woken);
  while (const Entry entry = woken.pop_front()) inject(runtime_, entry);
  carries_.store(false, std::memory_order_release);  // [SYSM-4]
}

// What comes from outside is brought in by whoever passes; workers that compute or are stuck do not.
void Sysmon::reap(std::int64_t now) {
  Poller* poller = runtime_.poller.load(std::memory_order_acquire);
  if (poller == nullptr) return;
  poller->flush();
  if (now - poller->reaped_at.load(std::memory_order_relaxed) < longest_nap || !poller->role.try_pass()) return;
  poller->reaped_at.store(now, std::memory_order_relaxed);
  Chain woken;
  for (unsigned visits = 0; visits < 8; ++visits) {  // it may be long before the next
    const std::size_t came = poller->reap(woken);
    counters_.rescues += came;
    if (came == 0) break;
  }
  const bool wanted = poller->role.leave();
  while (const Entry entry = woken.pop_front()) inject(runtime_, entry);
  if (!wanted) return;
  if (IdleNode* node = runtime_.idle.wake_one(true)) IdleSet::notify(*node);  // [POLL-2]
}

void Sysmon::add_worker(std::int64_t now) {
  unsigned place = runtime_.options.workers;
  while (place < runtime_.options.max_workers && runtime_.worker(place).thread.joinable()) ++place;
  if (place == runtime_.options.max_workers) return;
  Worker& worker = runtime_.worker(place);
  worker.temporary = true;
  worker.stuck.store(false, std::memory_order_relaxed);
  worker.retiring.store(false, std::memory_order_relaxed);
  watches_[place] = Watch{};
  watches_[place].busy_at = now;
  const WorkerState before = worker.state.exchange(WorkerState::idle_spin, std::memory_order_relaxed);  // it counts now
  if (runtime_.worker_count.load(std::memory_order_relaxed) <= place)
    runtime_.worker_count.store(place + 1, std::memory_order_release);
  try {
    runtime_.start_thread(place);
  } catch (const std::system_error&) {
    worker.state.store(before, std::memory_order_relaxed);
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    gate_.note_promoted();
  }
  retire_one_replaced();
}

void Sysmon::retire(Worker& worker) {
  worker.retiring.store(true, std::memory_order_relaxed);
  worker.want_look();
  IdleSet::notify(worker.idle_node);
}

// There was always an idle one, so one is too many. It need not be the idle one: what a temporary worker does in little
// bites a base worker can do, too.
void Sysmon::retire_surplus() {
  const unsigned count = runtime_.worker_count.load(std::memory_order_relaxed);
  for (unsigned i = runtime_.options.workers; i < count; ++i) {
    Worker& worker = runtime_.worker(i);
    if (has_no_thread(worker.state.load(std::memory_order_relaxed)) ||
        worker.retiring.load(std::memory_order_relaxed) || worker.stuck.load(std::memory_order_relaxed))
      continue;
    return retire(worker);
  }
}

// The new one takes the place of a temporary worker that is stuck itself: that one ends after its slice.
void Sysmon::retire_one_replaced() {
  const unsigned count = runtime_.worker_count.load(std::memory_order_relaxed);
  for (unsigned i = runtime_.options.workers; i < count; ++i) {
    Worker& worker = runtime_.worker(i);
    if (!worker.stuck.load(std::memory_order_relaxed) || worker.retiring.load(std::memory_order_relaxed)) continue;
    return retire(worker);
  }
}

Sysmon::Site& Sysmon::reports_of(const std::source_location& site) {
  for (Site& each : sites_)
    if (each.file == site.file_name() && each.line == site.line()) return each;
  if (sites_.size() == most_sites) return sites_.back();
  return sites_.emplace_back(Site{site.file_name(), site.line(), 0});
}

void Sysmon::open_report(Worker& worker, Watch& seen, StallReport::Kind kind, std::int64_t span) try {
  const TaskCore* task = running_on(worker);
  TaskView view;
  if (task == nullptr || !view_task(task, view)) return;
  close_report(seen);
  auto record = std::make_unique<StallReport>();
  record->kind = kind;
  record->worker = worker.index;
  record->task = view.id;
  record->name = view.name;
  record->site = view.site;
  record->duration = std::chrono::nanoseconds(span);
  seen.open = std::move(record);
  seen.asked = 0;
} catch (const std::bad_alloc&) {
  // No memory to describe it: watching goes on.
}

// A thread that waits for a processor does not answer at once; it is asked again at the next look.
void Sysmon::complete_report(Worker& worker, Watch& seen) try {
  ThreadStack stack;
  if (reports_of(seen.open->site).reports < stacks_per_site) {
    if (!take_thread_stack(worker.thread_id.load(std::memory_order_relaxed), stack_patience, stack)) {
      if (++seen.asked < most_questions) return;
    } else if (stack.task == seen.open->task) {
      TracePart part;
      part.fiber = stack.fiber;
      for (std::size_t i = 0; i < stack.count; ++i) part.frames.push_back({stack.frames[i]});
      seen.open->stack.parts.push_back(std::move(part));
    }
  }
  close_report(seen);
} catch (const std::bad_alloc&) {
}

void Sysmon::close_report(Watch& seen) {
  if (seen.open == nullptr) return;
  const std::unique_ptr<StallReport> record = std::move(seen.open);
  ++stall_count_;
  const bool first = reports_of(record->site).reports++ == 0;
  if (first && record->kind == StallReport::Kind::blocked && runtime_.options.stall_report)
    print_later(runtime_, *record);
  const std::lock_guard guard(mutex_);
  if (stalls_.size() == kept_stalls) stalls_.pop_front();
  stalls_.push_back(std::move(*record));
}

Pace::Rest Sysmon::plan(std::int64_t now) const {
  const unsigned count = runtime_.worker_count.load(std::memory_order_relaxed);
  std::int64_t until = seam::no_deadline;
  bool timers = false;
  for (unsigned i = 0; i < count; ++i) {
    const Worker& worker = runtime_.worker(i);
    const WorkerState state = worker.state.load(std::memory_order_relaxed);
    const std::int64_t due = worker.next_timer.load(std::memory_order_relaxed);
    const bool leaves = worker.temporary && worker.thread.joinable() &&
                        (state == WorkerState::dead || worker.retiring.load(std::memory_order_relaxed));
    if (leaves) {
      until = std::min(until, now + ms);
    } else if (has_no_thread(state)) {
      until = std::min(until, due);
    } else if (state == WorkerState::sleep) {
      if (worker.temporary) until = std::min(until, watches_[i].busy_at + temp_idle_);
    } else {
      timers = timers || due < now + longest_nap;
    }
  }
  if (runtime_.idle.active() + runtime_.idle.searchers() == 0) {
    if (quiet_ >= quiet_before_sleep) return {SysmonPace::asleep, until};
    return {SysmonPace::slow, std::min({until, now + (period_ << std::min(quiet_, 16u)), now + longest_nap})};
  }
  if (timers || stuck_ > 0) return {SysmonPace::fast, std::min(until, now + period_)};
  return {SysmonPace::slow, std::min(until, now + std::clamp(stall_after_ / 4, period_, longest_nap))};
}

void Sysmon::rest(std::uint32_t heard) {
  const bool awake = runtime_.idle.active() + runtime_.idle.searchers() != 0;
  quiet_ = awake ? 0 : quiet_ + 1;
  const std::int64_t now = seam::monotonic_ns();
  const std::int64_t other_looks = std::min(deadlock_.look(now, awake), trim_cold_stacks(now));
  Pace::Rest rest = Pace::settle(runtime_.sysmon_pace, [&] { return plan(now); });  // [SYSM-1]
  rest.until = std::min(rest.until, other_looks);
  const bool absent = rest.pace == SysmonPace::asleep;  // fibers of plain threads may go on meanwhile
  if (absent) end_keeping_stacks();
  if (rest.until > now) (void)seam::futex_wait(bell_, heard, rest.until);
  if (absent) begin_keeping_stacks();
  Pace::back(runtime_.sysmon_pace);
}

PressureStats Sysmon::pressure() const {
  const std::lock_guard guard(mutex_);
  return gate_.stats();
}

std::string Sysmon::pressure_text() const {
  const std::lock_guard guard(mutex_);
  return gate_.to_text();
}

std::vector<StallReport> Sysmon::stalls() const {
  const std::lock_guard guard(mutex_);
  return {stalls_.begin(), stalls_.end()};
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// Relaxed: a dump looks at tasks that run meanwhile; every number is a guess of one moment, and no decision rests on
// it.
#include "sched/dump.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/peek.hpp"
#include "base/sys.hpp"
#include "base/text_writer.hpp"
#include "fiber/symbols.hpp"
#include "sched/records.hpp"
#include "sched/runtimes.hpp"
#include "sched/task_view.hpp"
#include "sched/thread_stack.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/dump.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

constexpr std::int64_t dump_patience = 5'000'000;

std::string span_text(std::int64_t ns) {
  char buffer[32];
  TextWriter out(buffer);
  out.duration(ns);
  return std::string(out.view());
}

// How a task came to its code and how it waits: the same for all of them.
bool is_machinery(std::string_view function, std::string_view file) {
  if (file.ends_with("weft/detail/make_task.hpp")) return true;
  constexpr std::string_view beginnings[] = {
      "__invoke",  "invoke<",    "std::__invoke", "std::invoke",    "void std::__invoke",
      "TaskActs<", "run_flatly", "run_with_care", "join_with_care", "join_by_running",
  };
  constexpr std::string_view names[] = {
      "change_to",           "core_loop",         "run_task",         "yield_on",
      "leave_for_other",     "weft_guarded_call", "weft_fiber_run",   "run_here",
      "run_inside_boundary", "call_code",         "weft_fiber_entry", "run_watched",
      "leave_here_for",
  };
  return function.find("weft::v0::detail::") != std::string_view::npos ||
         std::any_of(std::begin(beginnings), std::end(beginnings),
                     [function](std::string_view each) { return function.starts_with(each); }) ||
         std::find(std::begin(names), std::end(names), function) != std::end(names);
}

// All tasks at about one moment, and the text about them.
class Picture {
 public:
  explicit Picture(const RuntimeCore* only) : only_(only), now_(seam::monotonic_ns()) {
    for_each_record([](TaskCore* task, void* self) { static_cast<Picture*>(self)->add(task); }, this);
    std::sort(tasks_.begin(), tasks_.end(), [](const TaskView& a, const TaskView& b) { return a.id < b.id; });
    for (std::size_t i = 0; i < tasks_.size(); ++i) place_.emplace(tasks_[i].record, i);
    for_each_runtime([](RuntimeCore& runtime, void* self) { static_cast<Picture*>(self)->add(runtime); }, this);
    arrange();
  }

  std::string text() {
    if (only_ == nullptr) {
      line(0) += "weft: " + counted(alive_, "task") + " in " + counted(runtimes_.size(), "runtime") + "\n";
    }
    for (std::size_t i = 0; i < runtimes_.size(); ++i) {
      if (only_ == nullptr) text_ += runtimes_[i].heading;
      for (const std::size_t root : runtimes_[i].roots) tell(root, 1);
    }
    if (only_ == nullptr) {
      section("elsewhere", strangers_);
      section("plain threads that wait", threads_);
      section("ended, with a handle that somebody still has", ended_);
    }
    return std::move(text_);
  }

  // That have not ended; of `only`, if it was given.
  std::size_t alive() const { return alive_; }

 private:
  struct RuntimePart {
    const RuntimeCore* core;
    const ScopeCore* scope;
    std::string heading;
    std::vector<std::size_t> roots;
  };

  void add(const TaskCore* task) {
    TaskView view;
    if (view_task(task, view)) tasks_.push_back(std::move(view));
  }

  void add(RuntimeCore& runtime) {
    if (only_ != nullptr && &runtime != only_) return;
    RuntimePart part{&runtime, &runtime.root_scope, {}, {}};
    std::string& text = part.heading;
    text += "runtime " + std::to_string(runtimes_.size() + 1) + ": " + counted(runtime.threads(), "worker") + ", " +
            counted(runtime.global.size(), "task") + " in the shared queue\n";
    const unsigned count = runtime.worker_count.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) {
      const Worker& worker = runtime.worker(i);
      const WorkerState state = worker.state.load(std::memory_order_relaxed);
      if (state == WorkerState::unborn) continue;
      text += "  worker " + std::to_string(i) + " " + to_string(state);
      if (i >= runtime.options.workers) text += " temporary";
      if (worker.stuck.load(std::memory_order_relaxed)) text += " stuck";
      const TaskCore* current = running_on(worker);
      if (current != nullptr && state == WorkerState::active) {
        take_stack(worker);
        if (const TaskView* running = find(current)) text += ", runs task " + std::to_string(running->id);
      }
      text += "\n";
    }
    runtimes_.push_back(std::move(part));
  }

  // Of the task that runs there, by a signal; the caller's own is taken when it is told.
  void take_stack(const Worker& worker) {
    const long tid = worker.thread_id.load(std::memory_order_relaxed);
    if (tid == sys::gettid()) return;
    ThreadStack stack;
    if (!take_thread_stack(tid, dump_patience, stack) || stack.task == 0) return;
    TracePart part;
    part.fiber = stack.fiber;
    for (std::size_t i = 0; i < stack.count; ++i) part.frames.push_back({stack.frames[i]});
    Trace trace;
    trace.parts.push_back(std::move(part));
    running_stacks_[stack.task] = std::move(trace);
  }

  const TaskView* find(const TaskCore* task) const {
    const auto found = place_.find(task);
    return found != place_.end() ? &tasks_[found->second] : nullptr;
  }

  // Whose tree a task stands in: up through the owners of nurseries to one that nobody waits for.
  const ScopeCore* root_scope_of(const TaskView& task) const {
    const TaskView* at = &task;
    for (std::size_t steps = 0; steps <= tasks_.size(); ++steps) {
      const TaskView* owner = at->nursery != nullptr ? find(at->nursery_owner) : nullptr;
      if (owner == nullptr || owner->ended()) break;
      at = owner;
    }
    return at->nursery == nullptr ? at->birth : nullptr;
  }

  void arrange() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskView& task = tasks_[i];
      if (task.flags & task_thread) {
        if (task.moment.state() == TaskState::parking) threads_.push_back(i);
        continue;
      }
      if (task.ended()) {
        ended_.push_back(i);
        continue;
      }
      const ScopeCore* scope = root_scope_of(task);
      const auto part = std::find_if(runtimes_.begin(), runtimes_.end(),
                                     [scope](const RuntimePart& each) { return each.scope == scope; });
      if (part == runtimes_.end() && only_ != nullptr) continue;
      ++alive_;
      add_nurseries(task);
      const TaskView* owner = task.nursery != nullptr ? find(task.nursery_owner) : nullptr;
      if (owner != nullptr && !owner->ended()) {
        children_[owner->record][task.nursery].push_back(i);
      } else if (part != runtimes_.end()) {
        part->roots.push_back(i);
      } else {
        strangers_.push_back(i);
      }
    }
  }

  // Those that it has open, also if none of their children has begun. By peek, and limited: it runs on.
  void add_nurseries(const TaskView& task) {
    const ScopeCore* at = task.scope;
    for (unsigned steps = 0; steps < 1000 && at != nullptr && at != task.birth; ++steps) {
      const TaskCore* owner = nullptr;
      const ScopeCore* parent = nullptr;
      std::uint8_t flags = 0;
      if (!peek(&owner, &at->owner, sizeof owner) || !peek(&parent, &at->parent, sizeof parent) ||
          !peek(&flags, &at->flags, sizeof flags) || owner != task.record)
        return;
      if (flags & scope_nursery) (void)children_[task.record][reinterpret_cast<const NurseryCore*>(at)];
      at = parent;
    }
  }

  // Children that are no tasks yet [TASK-6].
  static std::size_t not_begun(const NurseryCore* nursery, std::size_t begun) {
    std::int32_t plain = 0;
    CountWord count;
    if (!peek(&plain, &nursery->plain, sizeof plain) || !peek(&count, &nursery->count, sizeof count)) return 0;
    const std::int64_t all = std::int64_t{plain} + count.count();
    return all > static_cast<std::int64_t>(begun) ? static_cast<std::size_t>(all) - begun : 0;
  }

  static std::string counted(std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  }

  std::string& line(std::size_t depth) {
    text_.append(2 * depth, ' ');
    return text_;
  }

  void section(const char* title, const std::vector<std::size_t>& tasks) {
    if (tasks.empty()) return;
    line(0).append(title).append(":\n");
    for (const std::size_t task : tasks) tell(task, 1);
  }

  static void name_to(std::string& text, const TaskView& task) {
    text += "task " + std::to_string(task.id);
    if (!task.name.empty()) text += " \"" + task.name + "\"";
  }

  void tell(std::size_t index, std::size_t depth) {
    const TaskView& task = tasks_[index];
    const TaskMoment& moment = task.moment;
    std::string& text = line(depth);
    if (task.flags & task_thread) text += "thread's ";
    name_to(text, task);
    // A call in its place has not marked it [PLACE-1].
    const bool joins = moment.state() == TaskState::running && innermost_of(task.record) != task.record;
    text.append(" ").append(joins ? to_string(TaskState::joining) : state_name(moment));
    if (moment.state() == TaskState::running || moment.state() == TaskState::joining) {
      text += " on worker " + std::to_string(moment.owner() - 1);
    } else if (moment.state() == TaskState::parking && moment.reason() != WakeReason::none) {
      text.append(" by ").append(to_string(moment.reason()));
    } else if (task.parked()) {
      if (!task.wait.empty()) text += " " + task.wait;
      if (!(task.flags & task_thread)) {
        const auto ticks = static_cast<std::uint32_t>(static_cast<std::uint32_t>(now_ >> 20) - task.parked_at);
        // The coarse clock of its worker may have been a little behind ours.
        text += " " + span_text(ticks < 1U << 31 ? static_cast<std::int64_t>(ticks) << 20 : 0);
      }
      if (const TaskView* holder = task.holder != nullptr ? find(task.holder) : nullptr) {
        text += ", held by ";
        name_to(text, *holder);
      }
    } else if (task.ended() && (task.flags & task_failed) && moment.state() == TaskState::done) {
      text += " by an exception";
    }
    if (task.flags & task_pinned) text += ", pinned";
    if (task.strand != nullptr) text += ", in a strand";
    if (!(task.flags & task_thread))
      text.append(", spawned at ").append(task.site.file_name()).append(":").append(std::to_string(task.site.line()));
    text += "\n";
    tell_stack(task, depth + 1);
    const auto nurseries = children_.find(task.record);
    if (nurseries == children_.end()) return;
    for (const auto& [nursery, tasks] : nurseries->second) {
      const std::size_t waiting = not_begun(nursery, tasks.size());
      if (tasks.empty() && waiting == 0) continue;
      line(depth + 1) += "nursery of task " + std::to_string(task.id) + ": " + std::to_string(tasks.size()) +
                         (tasks.size() == 1 ? " child" : " children");
      if (waiting != 0) text_ += ", " + std::to_string(waiting) + " not begun";
      text_ += "\n";
      for (const std::size_t child : tasks) tell(child, depth + 2);
    }
  }

  Trace stack_of_task(const TaskView& task) const {
    if (task.flags & task_thread) return {};
    if (task.parked()) return stack_of_parked(task);
    if (task.record == this_task()) return stack_here();
    const auto found = running_stacks_.find(task.id);
    return found != running_stacks_.end() ? found->second : Trace{};
  }

  void tell_stack(const TaskView& task, std::size_t depth) {
    const Trace trace = stack_of_task(task);
    if (trace.empty()) return;
    // A thousand tasks at the same place: the place is told once.
    std::vector<const void*> key;
    for (const TracePart& part : trace.parts)
      for (const Frame& frame : part.frames) key.push_back(frame.address);
    const auto [known, fresh] = told_.emplace(std::move(key), task.id);
    if (!fresh) {
      line(depth) += "at the same place as task " + std::to_string(known->second) + "\n";
      return;
    }
    for (const TracePart& part : trace.parts) {
      line(depth) += "in fiber " + std::to_string(part.fiber);
      if (!part.name.empty()) text_ += " \"" + part.name + "\"";
      text_ += "\n";
      for (const Frame& frame : part.frames) {
        for (const std::string& place : names_of(frame.address)) line(depth + 1) += "at " + place + "\n";
      }
    }
  }

  // Inlined calls are places of their own.
  const std::vector<std::string>& names_of(const void* address) {
    const auto [found, fresh] = names_.try_emplace(address);
    if (!fresh) return found->second;
    std::vector<ResolvedFrame> frames;
    resolve_address(address, false, frames);
    for (const ResolvedFrame& frame : frames) {
      if (is_machinery(frame.function, frame.file)) continue;
      std::string place = frame.function.empty() ? "??" : frame.function;
      if (!frame.file.empty()) {
        place += " (" + frame.file;
        if (frame.line > 0) place += ":" + std::to_string(frame.line);
        place += ")";
      }
      found->second.push_back(std::move(place));
    }
    return found->second;
  }

  const RuntimeCore* only_;
  const std::int64_t now_;
  std::vector<TaskView> tasks_;
  std::unordered_map<const TaskCore*, std::size_t> place_;
  std::vector<RuntimePart> runtimes_;
  std::unordered_map<std::uint64_t, Trace> running_stacks_;
  std::unordered_map<const TaskCore*, std::map<const NurseryCore*, std::vector<std::size_t>>> children_;
  std::vector<std::size_t> strangers_;
  std::vector<std::size_t> threads_;
  std::vector<std::size_t> ended_;
  std::size_t alive_ = 0;

  std::map<std::vector<const void*>, std::uint64_t> told_;
  std::unordered_map<const void*, std::vector<std::string>> names_;
  std::string text_;
};

}  // namespace

std::string dump_runtime(const RuntimeCore& runtime, std::size_t& count) {
  Picture picture(&runtime);
  count = picture.alive();
  return picture.text();
}

void report_refusers(const RuntimeCore& runtime) {
  std::size_t count = 0;
  const std::string text = dump_runtime(runtime, count);
  sys::write_all(2, "weft: shutdown: " + std::to_string(count) + (count == 1 ? " task has" : " tasks have") +
                        " not ended in time:\n" + text);
}

void report_left_over(RuntimeCore& runtime) {
  std::size_t count = 0;
  const std::string text = dump_runtime(runtime, count);
  if (count != 0)
    sys::write_all(2, "weft: shutdown: " + std::to_string(count) + (count == 1 ? " task is" : " tasks are") +
                          " left and asked to stop:\n" + text);
  // Once: the destructor shuts down what run() has shut down.
  const std::uint64_t lost = undelivered_values();
  if (const std::uint64_t values = lost - runtime.undelivered_told.exchange(lost, std::memory_order_relaxed))
    sys::write_all(2, "weft: shutdown: " + std::to_string(values) +
                          (values == 1 ? " value was sent, received by nobody, and destroyed with its channel\n"
                                       : " values were sent, received by nobody, and destroyed with their channels\n"));
}

namespace {
seam::Atomic<std::uint64_t> undelivered{0};  // relaxed: a number to show
}

void count_undelivered(std::uint64_t values) noexcept {
  undelivered.fetch_add(values, std::memory_order_relaxed);
}

}  // namespace detail

std::string dump() {
  return detail::Picture(nullptr).text();
}

std::uint64_t undelivered_values() noexcept {
  return detail::undelivered.load(std::memory_order_relaxed);
}

}  // namespace weft::inline v0

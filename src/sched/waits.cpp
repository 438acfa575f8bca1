// SPDX-License-Identifier: MIT
// Relaxed: a task's deadline, before its ticket; that any are forgotten, before anybody asks.
#include "sched/waits.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/peek.hpp"
#include "sched/records.hpp"

namespace weft::inline v0::detail {
namespace {

// Tasks of runtimes that are forgotten. They never end, so their records are never anybody else's.
class Forgotten {
 public:
  void add(const std::vector<const TaskCore*>& tasks) {
    const std::lock_guard guard(mutex_);
    tasks_.insert(tasks.begin(), tasks.end());
    any_.store(!tasks_.empty(), std::memory_order_relaxed);
  }
  bool has(const TaskCore& task) {
    if (!any_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard guard(mutex_);
    return tasks_.contains(&task);
  }

 private:
  seam::Atomic<bool> any_{false};
  seam::Mutex mutex_;
  std::unordered_set<const TaskCore*> tasks_;  // guarded by mutex_
};

Forgotten& forgotten() {
  static Forgotten* the = new Forgotten;  // never destroyed, as the tasks in it
  return *the;
}

}  // namespace

bool is_in_run(const TaskCore& thread) {
  const FiberCore* root = nullptr;
  const WorkerCore* worker = nullptr;
  return peek(&root, &thread.root, sizeof root) && root != nullptr && peek(&worker, &root->worker, sizeof worker) &&
         worker != nullptr;
}

bool is_parked_for_ever(const TaskCore& task, const TaskMoment& now) {
  return now.state() == TaskState::parking && now.left() && now.reason() == WakeReason::none &&
         task.deadline.load(std::memory_order_relaxed) == seam::no_deadline;
}

void forget_tasks(const std::vector<const TaskCore*>& tasks) {
  forgotten().add(tasks);
}

namespace {

bool waits_for_ever(const TaskCore& task) {
  const TaskMoment now = task.word.look();
  switch (now.state()) {
    case TaskState::free:
    case TaskState::done:
    case TaskState::cancelled:
    case TaskState::joining:  // whoever runs in its place is looked at, too
    case TaskState::running:  // a thread's, or gather_views() finds it
      return true;
    case TaskState::parking:
      return is_parked_for_ever(task, now);
    default:
      return false;
  }
}

bool counts_as_waiting(const TaskCore& task) {
  return waits_for_ever(task) || forgotten().has(task);
}

bool is_parked_in(const TaskCore& task, const RuntimeCore& runtime) {
  return task.word.look().state() == TaskState::parking && !(task.flags & task_thread) && task.root != nullptr &&
         task.root->worker != nullptr && task.root->worker->runtime == &runtime;
}

std::string name_of(const TaskView& view) {
  std::string text = view.flags & task_thread ? "thread's task " : "task ";
  text += std::to_string(view.id);
  if (!view.name.empty()) text += " \"" + view.name + "\"";
  return text;
}

void site_to(std::string& text, const TaskView& view) {
  if (!(view.flags & task_thread))
    text.append(", spawned at ").append(view.site.file_name()).append(":").append(std::to_string(view.site.line()));
}

}  // namespace

struct Waits::Gathering {
  Waits* waits;
  bool all;
  bool external;
  const RuntimeCore* only = nullptr;
};

bool Waits::gather(bool& external, const TaskCore*& witness) {
  if (witness != nullptr && !counts_as_waiting(*witness)) return false;
  witness = nullptr;
  for_each_record(
      [](TaskCore* task, void* context) {
        auto& found = *static_cast<const TaskCore**>(context);
        if (found == nullptr && !counts_as_waiting(*task)) found = task;
      },
      &witness);
  if (witness != nullptr) return false;
  Gathering gathering{this, true, false};
  gather_views(gathering);
  external = gathering.external;
  return gathering.all;
}

void Waits::gather_all(const RuntimeCore* only) {
  Gathering gathering{this, true, false, only};
  for_each_record(
      [](TaskCore* task, void* context) {
        const RuntimeCore* wanted = static_cast<Gathering*>(context)->only;
        if (wanted != nullptr ? !is_parked_in(*task, *wanted) : forgotten().has(*task)) return;
        TaskView view;
        if (view_task(task, view) && (view.parked() || view.moment.state() == TaskState::joining))
          static_cast<Gathering*>(context)->waits->add(std::move(view));
      },
      &gathering);
}

void Waits::gather_views(Gathering& gathering) {
  for_each_record(
      [](TaskCore* task, void* context) {
        auto& mine = *static_cast<Gathering*>(context);
        if (!mine.all) return;
        const TaskState state = task->word.look().state();
        if (state == TaskState::free || state == TaskState::done || state == TaskState::cancelled) return;
        if (forgotten().has(*task)) return;
        TaskView view;
        if (!view_task(task, view)) {
          mine.all = false;
          return;
        }
        if (view.flags & task_thread) {
          if (is_in_run(*view.record)) return;
          ++mine.waits->plain_threads_;
          if (!view.parked()) {
            mine.external = true;
            return;
          }
        }
        mine.all = (view.parked() && view.moment.reason() == WakeReason::none && !view.outside) ||
                   view.moment.state() == TaskState::joining;
        mine.waits->add(std::move(view));
      },
      &gathering);
}

void Waits::add(TaskView view) {
  place_.emplace(view.record, views_.size());
  views_.push_back(std::move(view));
}

const TaskView* Waits::find(const TaskCore* task) const {
  const auto found = place_.find(task);
  return found != place_.end() ? &views_[found->second] : nullptr;
}

std::string Waits::report() const {
  return std::to_string(count()) + (count() == 1 ? " task waits" : " tasks wait") + ":\n" + list() + cycles(false);
}

std::string Waits::list() const {
  std::string text;
  std::vector<const TaskView*> in_order;
  in_order.reserve(views_.size());
  for (const TaskView& view : views_) in_order.push_back(&view);
  std::sort(in_order.begin(), in_order.end(), [](const TaskView* a, const TaskView* b) { return a->id < b->id; });
  for (const TaskView* view : in_order) {
    text += "  ";
    tell(text, *view);
    text += "\n";
  }
  return text;
}

void Waits::tell_one(std::string& text, const std::string& kind, const void* object, const TaskCore* holder,
                     const TaskCore* last_seen) const {
  text += kind;
  if (object != nullptr) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, reinterpret_cast<std::uintptr_t>(object), 16).ptr;
    text.append(" 0x").append(buffer, end);
  }
  if (holder != nullptr) {
    const TaskView* view = find(holder);
    text += kind == "join" ? " of " : ", held by ";
    text += view != nullptr ? name_of(*view) : "a task that does not wait, or has ended";
  }
  if (last_seen != nullptr) {
    const TaskView* view = find(last_seen);
    text += kind == "send" || kind == "recv" ? ", other side last seen used by " : ", last seen with ";
    text += view != nullptr ? name_of(*view) : "a task that does not wait, or has ended";
  }
}

void Waits::tell(std::string& text, const TaskView& view) const {
  text += name_of(view) + " waits: ";
  if (view.moment.state() == TaskState::joining) {
    const TaskView* inner = find(innermost_of(view.record));
    text += "in place, for " + (inner != nullptr ? name_of(*inner) : std::string("a child"));
    return site_to(text, view);
  }
  tell_one(text, view.wait.empty() ? "?" : view.wait, view.wait_object, view.holder, view.last_seen);
  for (const TaskView::Case& each : view.cases) {
    text += "; or ";
    tell_one(text, each.kind, each.object, each.holder, each.last_seen);
  }
  site_to(text, view);
}

std::string Waits::cycles(bool certain) const {
  std::string text;
  std::vector<std::uint8_t> state(views_.size(), 0);  // 0 new, 1 on the path, 2 done
  std::vector<Step> path;
  for (std::size_t start = 0; start < views_.size(); ++start) search(start, certain, state, path, text);
  return text;
}

void Waits::edge_to(std::vector<Edge>& edges, const TaskCore* task, std::string how) const {
  const auto found = place_.find(task);
  if (task != nullptr && found != place_.end()) edges.push_back({found->second, std::move(how)});
}

std::vector<Waits::Edge> Waits::edges_of(const TaskView& view, bool certain) const {
  std::vector<Edge> edges;
  if (view.moment.state() == TaskState::joining) {
    const TaskCore* inner = innermost_of(view.record);
    if (inner != view.record) edge_to(edges, inner, "in place");
    return edges;
  }
  if (certain && (view.outside || !view.cases.empty() ||
                  view.record->deadline.load(std::memory_order_relaxed) != seam::no_deadline))
    return edges;
  edge_to(edges, view.holder, view.wait);
  if (view.wait == "nursery") {
    for (const TaskView& child : views_)
      if (child.nursery != nullptr && child.nursery == view.wait_object) edge_to(edges, child.record, "nursery");
  }
  if (certain) return edges;
  edge_to(edges, view.last_seen, view.wait + ", last seen");
  for (const TaskView::Case& each : view.cases) {
    edge_to(edges, each.holder, "select " + each.kind);
    edge_to(edges, each.last_seen, "select " + each.kind + ", last seen");
  }
  return edges;
}

// Depth first; a step back to the path is a cycle. Not recursive: chains may be long.
void Waits::search(std::size_t start, bool certain, std::vector<std::uint8_t>& state, std::vector<Step>& path,
                   std::string& text) const {
  struct Frame {
    std::size_t at;
    std::vector<Edge> edges;
    std::size_t next = 0;
  };
  if (state[start] != 0) return;
  std::vector<Frame> frames;
  const auto enter = [&](std::size_t at) {
    state[at] = 1;
    path.push_back({at, ""});
    frames.push_back({at, edges_of(views_[at], certain), 0});
  };
  enter(start);
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.edges.size()) {
      state[frame.at] = 2;
      path.pop_back();
      frames.pop_back();
      continue;
    }
    const Edge edge = frame.edges[frame.next++];
    path.back().how = edge.how;
    if (state[edge.to] == 0) {
      enter(edge.to);
    } else if (state[edge.to] == 1) {
      tell_cycle(text, path, edge.to);
    }
  }
}

void Waits::tell_cycle(std::string& text, const std::vector<Step>& path, std::size_t from) const {
  std::size_t first = 0;
  while (path[first].at != from) ++first;
  // The same from wherever it was found: the oldest of them first.
  const std::size_t length = path.size() - first;
  std::size_t oldest = 0;
  for (std::size_t i = 1; i < length; ++i)
    if (views_[path[first + i].at].id < views_[path[first + oldest].at].id) oldest = i;
  text += "  cycle: ";
  for (std::size_t i = 0; i < length; ++i) {
    const Step& step = path[first + (oldest + i) % length];
    text += name_of(views_[step.at]) + " -" + step.how + "-> ";
  }
  text += name_of(views_[path[first + oldest].at]) + "\n";
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: everybody who waits, and who waits for whom, as read from outside: for reports of deadlocks.
// Threads: any; it looks by peek and at type-stable records, and what it saw may be over by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/runtime_core.hpp"
#include "sched/task_view.hpp"

namespace weft::inline v0::detail {

// Is this thread the worker of some runtime just now, or the loop of one?
bool is_in_run(const TaskCore& thread);
// By its word and its deadline alone; what is in between is not waiting [DEAD-2].
bool is_parked_for_ever(const TaskCore& task, const TaskMoment& now);
// Tasks of a runtime that nobody drives any more: from now on they count for nothing.
void forget_tasks(const std::vector<const TaskCore*>& tasks);

class Waits {
 public:
  // False: somebody is not waiting, or not for ever; `external`: it is a thread.
  // `witness`: somebody who was not waiting for ever the last time; asked first, so that a heartbeat among very many
  // who wait costs one look.
  bool gather(bool& external, const TaskCore*& witness);
  // Whoever waits now, and those in whose place somebody waits. `only`: in this runtime, which stands still.
  void gather_all(const RuntimeCore* only = nullptr);

  unsigned plain_threads() const { return plain_threads_; }
  std::size_t count() const { return views_.size(); }

  // "3 tasks wait:", each with what for, and the cycles among them.
  std::string report() const;
  // Each cycle once. `certain`: only of edges that no other task's action can cut, and of waits without a deadline.
  std::string cycles(bool certain) const;

 private:
  struct Gathering;
  struct Edge {
    std::size_t to;
    std::string how;
  };
  struct Step {
    std::size_t at;
    std::string how;  // it waits for the next one
  };

  void gather_views(Gathering& gathering);
  void add(TaskView view);
  const TaskView* find(const TaskCore* task) const;
  std::string list() const;
  void tell_one(std::string& text, const std::string& kind, const void* object, const TaskCore* holder,
                const TaskCore* last_seen) const;
  void tell(std::string& text, const TaskView& view) const;
  void edge_to(std::vector<Edge>& edges, const TaskCore* task, std::string how) const;
  std::vector<Edge> edges_of(const TaskView& view, bool certain) const;
  void search(std::size_t start, bool certain, std::vector<std::uint8_t>& state, std::vector<Step>& path,
              std::string& text) const;
  void tell_cycle(std::string& text, const std::vector<Step>& path, std::size_t from) const;

  std::vector<TaskView> views_;
  std::unordered_map<const TaskCore*, std::size_t> place_;
  unsigned plain_threads_ = 0;
};

}  // namespace weft::inline v0::detail

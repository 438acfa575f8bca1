// SPDX-License-Identifier: MIT
// What: runs the same test in every universe a task can live in: 1 to 8 workers, both policies, and its children run in
// place, queued or stolen. A test that holds in one only has found a bug [N-018].
//   in_place   the default: a child that its joiner finds runs on the joiner's stack
//   queued     in_place is off: the joiner parks, a worker takes the child from a queue
//   stolen     in_place is off, and spawn() does not come back before another worker has begun the child
// With WEFT_WORKERS, WEFT_POLICY and WEFT_IN_PLACE set, which decide for every runtime that leaves them open, only
// those universes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "sched/patience.hpp"
#include "sched/worker_counts.hpp"
#include "weft/detail/seam.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace weft_test {

enum class Mode : std::uint8_t { in_place, queued, stolen };

inline const char* to_string(Mode mode) {
  return mode == Mode::in_place ? "in place" : mode == Mode::queued ? "queued" : "stolen";
}

struct Universe {
  unsigned workers = 1;
  weft::RuntimeOptions::Policy policy = weft::RuntimeOptions::Policy::steal;
  Mode mode = Mode::in_place;

  std::string name() const {
    return std::to_string(workers) + " workers, " + weft::to_string(policy) + ", " + to_string(mode);
  }
  weft::RuntimeOptions options() const {
    weft::RuntimeOptions options;
    options.workers = workers;
    options.policy = policy;
    options.in_place = mode == Mode::in_place;
    return options;
  }

  // A child; in the stolen universes, one that another worker has begun (the caller holds its own worker meanwhile).
  template <class F, class... Options>
  auto spawn(weft::Nursery& nursery, F&& body, const Options&... more) const {
    auto task = nursery.spawn(std::forward<F>(body), more...);
    if (mode == Mode::stolen)
      while (task.status() == weft::TaskStatus::created) weft::seam::pause();
    return task;
  }
};

inline std::vector<Universe> universes() {
  using Policy = weft::RuntimeOptions::Policy;
  std::vector<Universe> all;
  for (const unsigned workers : worker_counts()) {
    for (const auto policy : {Policy::steal, Policy::global}) {
      if (!leaves_open("WEFT_POLICY", weft::to_string(policy))) continue;
      if (policy == Policy::steal && may_run_in_place()) all.push_back({workers, policy, Mode::in_place});
      all.push_back({workers, policy, Mode::queued});
      if (workers > 1) all.push_back({workers, policy, Mode::stolen});
    }
  }
  return all;
}

// body(universe, runtime), once per universe, on the calling thread.
template <class F>
void each_universe(F&& body) {
  for (const Universe& universe : universes()) {
    INFO("universe: ", universe.name());
    weft::Runtime runtime(universe.options());
    body(universe, runtime);
  }
}

// body(universe), as the main task of a runtime of its own.
template <class F>
void in_each_universe(F&& body) {
  each_universe([&](const Universe& universe, weft::Runtime& runtime) { runtime.run([&] { body(universe); }); });
}

// One is one: on a busy machine it may look stuck, and a temporary second one would run tasks at the same time.
inline weft::RuntimeOptions workers(unsigned count) {
  weft::RuntimeOptions options;
  options.workers = count;
  if (count == 1) options.max_workers = 1;
  return options;
}

// In a task: waits, and lets others run.
template <class F>
void until(F&& holds) {
  while (!holds()) weft::sleep(std::chrono::microseconds(50));
}
// PARKED: it has looked at everything that might end its wait, its stack is left, and nobody has ended the wait yet.
inline bool is_parked(const weft::detail::TaskCore* task) {
  const weft::detail::TaskMoment now = task->word.look();
  return now.state() == weft::detail::TaskState::parking && now.left() &&
         now.reason() == weft::detail::WakeReason::none;
}
// Not by sleeping: two who sleep for the same time meet for ever. Of a task whose wait has a limit one may see the end.
template <class T>
void until_parked(const weft::Task<T>& task) {
  while (!is_parked(task.core())) weft::yield_now();
}

// The OS thread. Not std::this_thread::get_id(), which compilers believe to be constant within a function: it is not
// after a wait.
inline long thread_here() {
  return weft::detail::sys::gettid();
}

// Holds the processor: no suspension point.
inline void compute_for(std::chrono::nanoseconds span) {
  const auto until = std::chrono::steady_clock::now() + span;
  while (std::chrono::steady_clock::now() < until) weft::seam::pause();
}

}  // namespace weft_test

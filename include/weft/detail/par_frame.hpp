// SPDX-License-Identifier: MIT
// What: the fork-join step under par: one job offered to others, one call made here.
// Invariants: [JOB-1], [JOB-2] of job.hpp. The frame is a nursery whose children are jobs that somebody else took; as
// long as nobody did, nothing of it but its scope is used.
// Relaxed: the frame and the task's scopes belong to the task that forks; the epoch only makes a walk unnecessary
// [SCP-4].
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/job.hpp"
#include "weft/detail/make_task.hpp"
#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::detail {

// What a call gives inside of the library: void has a value, too.
template <class F>
using CallResult = std::conditional_t<std::is_void_v<std::invoke_result_t<F&>>, std::monostate,
                                      std::decay_t<std::invoke_result_t<F&>>>;

template <class F>
[[gnu::always_inline]] inline CallResult<F> call_for_value(F& f) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    f();
    return {};
  } else {
    return f();
  }
}

template <class F>
struct ParJob : Job {
  F* body;
  std::optional<CallResult<F>> result;
  static void run_elsewhere(Job* job) {
    auto* self = static_cast<ParJob*>(job);
    self->result.emplace(call_for_value(*self->body));
  }
};

struct ParFrame : NurseryCore {};

void par_open_slow(ParFrame& frame);               // inside an inner fiber, or with bindings
void par_close_slow(ParFrame& frame);              // something was linked, retained or has failed; throws that
void offer_shared(WorkerCore* worker, Entry job);  // under the global policy
void par_wait(ParFrame& frame);                    // the job was taken: waits for its end
void par_failed(ParFrame& frame) noexcept;         // the call here has thrown what is being handled

[[gnu::always_inline]] inline void par_open(ParFrame& frame, FiberCore* here) {
  TaskCore* task = here->root->task;
  ScopeCore* parent = task->scope;
  ScopeCore& scope = frame.scope;
  frame.here = here;
  frame.owner = task;
  scope.parent = parent;
  scope.owner = task;
  scope.clean_epoch.store(parent->clean_epoch.load(std::memory_order_relaxed), std::memory_order_relaxed);
  scope.deadline_within = parent->deadline_within;
  task->scope = &scope;
  if (!(here->flags & flag_root) || here->bindings != nullptr || here->shared_with != nullptr) [[unlikely]]
    par_open_slow(frame);
}

[[gnu::always_inline]] inline void par_close(ParFrame& frame) {
  frame.owner->scope = frame.scope.parent;
  if (frame.scope.flags.load(std::memory_order_relaxed) != 0 || frame.first != nullptr) [[unlikely]]
    par_close_slow(frame);
}

// Takes the job back from the young end of the deque, if it is still there.
[[gnu::always_inline]] inline bool take_back(WorkerCore* worker, Job* job) {
  return worker->deque.take_back(Entry(job, entry_job));
}

// Calls `there` and `here`, at the same time if somebody helps.
template <class F, class G>
[[gnu::always_inline]] inline std::pair<CallResult<F>, CallResult<G>> fork_join(F& there, G& here) {
  FiberCore* self = current_core();
  WorkerCore* worker = self->root->worker;
  if (worker == nullptr) [[unlikely]] {
    auto first = call_for_value(there);
    return {std::move(first), call_for_value(here)};
  }
  ParFrame frame;
  ParJob<F> job;
  job.run = &ParJob<F>::run_elsewhere;
  job.frame = &frame;
  job.body = &there;
  par_open(frame, self);
  if (worker->steals) [[likely]] {
    push_own(worker, Entry(&job, entry_job));
  } else {
    offer_shared(worker, Entry(&job, entry_job));
  }
  std::optional<CallResult<G>> mine;
  try {
    mine.emplace(call_for_value(here));
  } catch (...) {
    par_failed(frame);
  }
  worker = self->root->worker;  // the call may have parked and come back elsewhere
  if (take_back(worker, &job)) [[likely]] {
    worker->count_tick();
    if (mine) [[likely]] {
      try {
        job.result.emplace(call_for_value(there));
      } catch (...) {
        par_failed(frame);
      }
    }
  } else {
    par_wait(frame);
  }
  par_close(frame);
  return {std::move(*job.result), std::move(*mine)};
}

}  // namespace weft::inline v0::detail

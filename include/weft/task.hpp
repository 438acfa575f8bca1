// SPDX-License-Identifier: MIT
// What: Task<T>, the handle of something that was spawned: wait for it, look at it, ask it to stop.
// Threads: one at a time per handle; any thread. Dropping the handle does not stop the task.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <new>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/make_task.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

class Strand;

struct TaskOptions {
  std::string_view name = {};
  std::size_t stack_size = 0;  // bytes; 0: the runtime's default. With its own size a task never runs in place.
  bool fifo = false;           // begins after what is ready already, as go() has it; children begin newest first
  bool pinned = false;         // stays on the OS thread that it first ran on
  Strand* strand = nullptr;    // runs one at a time with the other tasks of this strand
  // If there is no stack for it, it alone fails (StackError): its closure is destroyed, its handle knows, its nursery
  // goes on. Else that is a failure of the nursery. For who starts a child per stranger that comes.
  bool apart = false;
  std::source_location site = std::source_location::current();
};

enum class TaskStatus : std::uint8_t { created, runnable, running, waiting, done, failed, cancelled };
const char* to_string(TaskStatus status);

// Why there is no result, from the forms of join and await that never throw.
struct AwaitError {
  enum class Why : std::uint8_t {
    timed_out,
    cancelled,  // the caller was asked to stop before the end
    failed,     // `failure` ended the task
  };
  Why why = Why::failed;
  std::exception_ptr failure;
};

namespace detail {
void join_handle(TaskCore* task);  // throws what is pending for the caller
enum class Ran : std::uint8_t {
  no,
  yes,      // or was waited for: its end is told as everybody's is
  plainly,  // here, without a wait, and nobody else knows the record
};
// By the only handle, which is about to go.
Ran join_last_handle(TaskCore* task);
// The same; if it ran plainly its result is at `out`, and the record is given back.
Ran join_into(TaskCore* task, void* out);
// With Raise::quietly it never throws, and `cancelled` says that the caller was asked to stop first.
WaitEnd join_handle_by(TaskCore* task, std::int64_t deadline, Raise raise);
void drop_handle_slow(TaskCore* task) noexcept;
// What ended it; it counts as observed from then on.
std::exception_ptr outcome_of(TaskCore* task);
[[noreturn]] void throw_outcome(TaskCore* task);
void cancel_task(TaskCore* task);
void interrupt_task(TaskCore* task);
TaskStatus status_of(const TaskCore* task);
std::string_view name_of(const TaskCore* task);
void apply_options(TaskCore* task, const TaskOptions& options);
[[noreturn]] void refuse_empty_task();

inline bool has_ended(const TaskCore* task) {
  return task->word.look().state() >= TaskState::done;
}

// The handle is gone. The second of this and the task's end frees the record [TASK-2].
inline void drop_handle(TaskCore* task) noexcept {
  if ((task->life.load(std::memory_order_acquire) & life_ended) &&
      !(task->flags & (task_failed | task_has_result | task_named))) [[likely]] {
    if (WorkerCore* worker = this_worker()) {
      make_clean(*task);
      task->word.make_free();
      return give_record(worker, task);
    }
  }
  drop_handle_slow(task);
}
}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A result, or none: a task without one says true, or false.
  using Joined = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

  Task() = default;
  Task(Task&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~Task() {
    if (core_ != nullptr) detail::drop_handle(core_);
  }

  // Waits for its end and gives its result, moved out; throws what ended it, the original exception. May be asked once
  // for a result that cannot be copied.
  T join() & {
    detail::TaskCore* core = checked();
    if (!detail::has_ended(core)) detail::join_handle(core);
    if (core->flags & detail::task_failed) detail::throw_outcome(core);
    if constexpr (!std::is_void_v<T>) return std::move(detail::TaskRoom<T>::at(core));
  }
  // The same by a handle that is used up, std::move(task).join() or spawn(...).join(): the cheapest.
  T join() && {
    detail::TaskCore* core = checked();
    if constexpr (std::is_void_v<T>) {
      if (detail::join_into(core, this) != detail::Ran::plainly) [[unlikely]]
        return outcome();
      core_ = nullptr;
    } else if constexpr (detail::goes_out<T>) {
      alignas(T) std::byte result[sizeof(T)];
      if (detail::join_into(core, result) != detail::Ran::plainly) [[unlikely]]
        return outcome();
      core_ = nullptr;
      return *std::launder(reinterpret_cast<T*>(result));
    } else {
      if (detail::join_last_handle(core) != detail::Ran::plainly) [[unlikely]]
        return outcome();
      // relaxed: nobody else knows the record
      core->life.store(detail::life_ended, std::memory_order_relaxed);
      const Task mine(std::move(*this));
      return std::move(detail::TaskRoom<T>::at(core));
    }
  }
  // Nothing (false): its time was up first, and the result is still to be had.
  Joined join_until(TimePoint when) { return join_by(detail::deadline_at(when)); }
  Joined join_for(std::chrono::nanoseconds span) { return join_by(detail::deadline_after(span)); }
  // Never throws, for destructors and noexcept code.
  std::expected<T, AwaitError> join_result(TimePoint when = TimePoint::max()) noexcept(
      std::is_void_v<T> || std::is_nothrow_move_constructible_v<T>) {
    const WaitResult end = wait_result(when);
    if (end != WaitResult::done)
      return std::unexpected(
          AwaitError{end == WaitResult::timed_out ? AwaitError::Why::timed_out : AwaitError::Why::cancelled, nullptr});
    if (core_->flags & detail::task_failed)
      return std::unexpected(AwaitError{AwaitError::Why::failed, detail::outcome_of(core_)});
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(detail::TaskRoom<T>::at(core_));
    }
  }
  // Waits for its end only: neither its result nor its failure comes out here.
  void wait() {
    if (!done()) detail::join_handle(core_);
  }
  // False: its time was up first.
  bool wait_until(TimePoint when) {
    return detail::join_handle_by(checked(), detail::deadline_at(when), detail::Raise::yes) == WaitResult::done;
  }
  bool wait_for(std::chrono::nanoseconds span) {
    return detail::join_handle_by(checked(), detail::deadline_after(span), detail::Raise::yes) == WaitResult::done;
  }
  // Never throws, for destructors and noexcept code.
  WaitResult wait_result(TimePoint when = TimePoint::max()) noexcept {
    return detail::join_handle_by(checked(), detail::deadline_at(when), detail::Raise::quietly);
  }

  bool done() const { return detail::has_ended(checked()); }
  TaskStatus status() const { return detail::status_of(checked()); }

  // Asks it to stop; its next suspension point raises Cancelled. One that has not started never runs.
  void cancel() { detail::cancel_task(checked()); }
  // Raises one interrupt signal in it, at its next suspension point or checkpoint().
  void interrupt() { detail::interrupt_task(checked()); }

  std::uint64_t id() const { return checked()->id; }
  std::string_view name() const { return detail::name_of(checked()); }
  explicit operator bool() const noexcept { return core_ != nullptr; }

  // For the library's own floors.
  static Task adopt(detail::TaskCore* core) noexcept {
    Task task;
    task.core_ = core;
    return task;
  }
  detail::TaskCore* core() const noexcept { return core_; }

 private:
  detail::TaskCore* checked() const {
    if (core_ == nullptr) [[unlikely]]
      detail::refuse_empty_task();
    return core_;
  }
  // Out of line: of one that has not run plainly.
  [[gnu::noinline]] T outcome() { return join(); }
  Joined join_by(std::int64_t deadline) {
    if (detail::join_handle_by(checked(), deadline, detail::Raise::yes) != WaitResult::done) return Joined{};
    if constexpr (std::is_void_v<T>) {
      join();
      return true;
    } else {
      return join();
    }
  }
  detail::TaskCore* core_ = nullptr;
};

// Of the running task; 0 on a plain thread that has never waited.
std::uint64_t current_task_id();
std::string_view current_task_name();

}  // namespace weft::inline v0

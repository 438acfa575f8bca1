// SPDX-License-Identifier: MIT
// What: a closure in a task record: how it is stored, run, and how its result takes its place [TASK-4].
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::detail {

template <class T>
inline constexpr bool fits_room =
    sizeof(T) <= TaskCore::room_bytes && alignof(T) <= 16 && std::is_nothrow_move_constructible_v<T>;

// While something is moved out of the room: what is left of it there is destroyed there, and may not wait;
// register_task says so [TASK-4].
template <class T>
struct RoomInUse {
  explicit RoomInUse(TaskCore* of) : task(of) {
    if constexpr (!std::is_trivially_copyable_v<T>) task->flags |= task_has_result;
  }
  ~RoomInUse() {
    if constexpr (!std::is_trivially_copyable_v<T>) task->flags &= static_cast<std::uint16_t>(~task_has_result);
  }
  RoomInUse(const RoomInUse&) = delete;
  RoomInUse& operator=(const RoomInUse&) = delete;
  TaskCore* task;
};

// Either the object itself or a pointer to it on the heap.
template <class T>
struct TaskRoom {
  template <class... Args>
  static void put(TaskCore* task, Args&&... args) {
    if constexpr (fits_room<T>) {
      ::new (task->room) T(std::forward<Args>(args)...);
    } else {
      ::new (task->room) T*(new T(std::forward<Args>(args)...));
    }
  }
  static T& at(TaskCore* task) {
    if constexpr (fits_room<T>) {
      return *std::launder(reinterpret_cast<T*>(task->room));
    } else {
      return **std::launder(reinterpret_cast<T**>(task->room));
    }
  }
  static T take(TaskCore* task)
    requires fits_room<T>
  {
    const RoomInUse<T> in_use(task);
    T taken(std::move(at(task)));
    at(task).~T();
    return taken;
  }
  // Its destructor runs when the room is free already.
  static void drop(TaskCore* task) {
    if constexpr (fits_room<T>) {
      [[maybe_unused]] const T leaving = take(task);
    } else {
      delete &at(task);
    }
  }
};

// Takes the closure out of the room, so that the room is free for what it returns.
template <class D>
struct Taken {
  explicit Taken(TaskCore* task) : body(TaskRoom<D>::take(task)) {}
  D body;
};
template <class D>
  requires(!fits_room<D>)
struct Taken<D> {
  explicit Taken(TaskCore* task) : held(&TaskRoom<D>::at(task)), body(*held) {}
  std::unique_ptr<D> held;
  D& body;
};

// What the task's code left behind goes: its locals, its bindings, its places in lists.
void vacate_room_slow(TaskCore* task);
[[gnu::always_inline]] inline void vacate_room(TaskCore* task) {
  // acquire: set by the task itself, cleared (release) by who fires the timer, after its last touch of the node
  if ((task->flags & (task_registered | task_locals)) != 0 || task->timer_place.load(std::memory_order_acquire) != 0 ||
      current_core_near(task->root)->bindings != nullptr) [[unlikely]]
    vacate_room_slow(task);
}

template <class D, class R>
R run_closure(TaskCore* task) {
  Taken<D> taken(task);
  return std::invoke(taken.body);
}

// The closure is out of the room before there is memory for the result, or none.
template <class D, class R>
R* run_closure_to_heap(TaskCore* task) {
  Taken<D> taken(task);
  return new R(std::invoke(taken.body));
}

// A result that a joiner can have where it wants it: then the room need not be vacated for it. To move and to destroy
// others is anybody's code, which may throw, or wait and come back on another worker.
template <class R>
inline constexpr bool goes_out = fits_room<R> && std::is_trivially_copyable_v<R>;

template <class R>
void keep_result(TaskCore* task, R& result) {
  vacate_room(task);
  TaskRoom<R>::put(task, result);
}

template <class D, class R>
void task_code(TaskCore* task, TaskOp op, void* out);

// Nobody waits for the result just here.
template <class D, class R>
[[gnu::noinline]] void run_to_room(TaskCore* task) {
  alignas(R) std::byte here[sizeof(R)];
  task_code<D, R>(task, TaskOp::run, here);
  keep_result(task, *std::launder(reinterpret_cast<R*>(here)));
}

template <class D, class R>
[[gnu::always_inline]] inline void run_to_result(TaskCore* task, [[maybe_unused]] void* out) {
  if constexpr (std::is_void_v<R>) {
    run_closure<D, R>(task);
  } else if constexpr (goes_out<R>) {
    if (out == nullptr) return run_to_room<D, R>(task);
    ::new (out) R(run_closure<D, R>(task));
  } else if constexpr (fits_room<R>) {
    R result = run_closure<D, R>(task);
    vacate_room(task);
    if constexpr (!std::is_trivially_destructible_v<R>) task->flags |= task_has_result;  // nothing may wait any more
    TaskRoom<R>::put(task, std::move(result));
  } else {
    std::unique_ptr<R> result(run_closure_to_heap<D, R>(task));
    vacate_room(task);
    ::new (task->room) R*(result.release());
    task->flags |= task_has_result;
  }
}

template <class D, class R>
void task_code(TaskCore* task, TaskOp op, void* out) {
  if (op == TaskOp::run) [[likely]] {
    run_to_result<D, R>(task, out);
  } else if (op == TaskOp::drop_closure) {
    TaskRoom<D>::drop(task);
  } else if constexpr (!std::is_void_v<R>) {
    if (op == TaskOp::drop_result) {
      TaskRoom<R>::drop(task);
    } else if constexpr (goes_out<R>) {
      keep_result(task, *std::launder(static_cast<R*>(out)));
    }
  }
}

// The type that a task with this body has as its result: references become pointers' worth of trouble, so they decay.
template <class F>
using TaskResult = std::decay_t<std::invoke_result_t<std::decay_t<F>&>>;

// Fills a fresh record; counted, not yet queued.
template <class F>
[[gnu::always_inline]] inline void fill_task(TaskCore* task, F&& body, const std::source_location& site) {
  using D = std::decay_t<F>;
  using R = TaskResult<F>;
  WEFT_DEBUG(is_clean(*task), "a record comes clean from where it was pooled");
  TaskRoom<D>::put(task, std::forward<F>(body));
  task->code = &task_code<D, R>;
  task->interrupts.store(0, std::memory_order_relaxed);  // relaxed: the push publishes the whole record
  task->site = site;
  task->word.take_fresh();
}

inline std::uint64_t task_id_for(WorkerCore* worker) {
  return worker->next_id != worker->end_id ? worker->next_id++ : fresh_task_ids(worker);
}

Binding* snapshot_bindings();

// Before the push [LIVE-1].
inline void count_started(WorkerCore* worker) {
  seam::own_add(*worker->started, 1, std::memory_order_relaxed);
}

}  // namespace weft::inline v0::detail

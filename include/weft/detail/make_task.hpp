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
template <>
inline constexpr bool fits_room<void> = false;

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
  if constexpr (std::is_void_v<R>) {
    (void)std::invoke(taken.body);
  } else {
    return std::invoke(taken.body);
  }
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

// The acts of a closure D that returns R.
template <class D, class R>
struct TaskActs {
  static void run_out(TaskCore* task, [[maybe_unused]] void* out) {
    if constexpr (goes_out<R>) {
      ::new (out) R(run_closure<D, R>(task));
    } else {
      run(task, nullptr);
    }
  }
  static void run(TaskCore* task, void* /*out*/) {
    if constexpr (std::is_void_v<R>) {
      run_closure<D, R>(task);
    } else if constexpr (goes_out<R>) {
      R result = run_closure<D, R>(task);
      keep_result(task, &result);
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
  static void keep_result(TaskCore* task, [[maybe_unused]] void* out) {
    if constexpr (goes_out<R>) {
      vacate_room(task);
      TaskRoom<R>::put(task, *std::launder(static_cast<R*>(out)));
    }
  }
  static void drop_closure(TaskCore* task, void* /*out*/) { TaskRoom<D>::drop(task); }
  static void drop_result(TaskCore* task, void* /*out*/) {
    if constexpr (!std::is_void_v<R>) TaskRoom<R>::drop(task);
  }
};
template <class D, class R>
inline constexpr TaskCode task_code{TaskActs<D, R>::run_out, TaskActs<D, R>::run, TaskActs<D, R>::keep_result,
                                    TaskActs<D, R>::drop_closure, TaskActs<D, R>::drop_result};

// The type that a task with this body has as its result: references become pointers' worth of trouble, so they decay.
template <class F>
using TaskResult = std::decay_t<std::invoke_result_t<std::decay_t<F>&>>;

// What to run, in a fresh record. R: void if nobody will ask for its result.
template <class R, class F>
[[gnu::always_inline]] inline void put_closure(TaskCore* task, F&& body, const std::source_location& site) {
  using D = std::decay_t<F>;
  WEFT_DEBUG(is_clean(*task), "a record comes clean from where it was pooled");
  TaskRoom<D>::put(task, std::forward<F>(body));
  task->code = &task_code<D, R>;
  task->site = site;
}

// Fills a fresh record; not yet queued.
template <class F>
[[gnu::always_inline]] inline void fill_task(TaskCore* task, F&& body, const std::source_location& site) {
  put_closure<TaskResult<F>>(task, std::forward<F>(body), site);
  task->word.take_fresh();
}

inline std::uint64_t task_id_for(WorkerCore* worker) {
  return worker->next_id != worker->end_id ? worker->next_id++ : fresh_task_ids(worker);
}

Binding* snapshot_bindings();

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#pragma once
// What: the names of weft/detail/seam.hpp for a verification build. Included by it; see hook.hpp for the contract.

#include <type_traits>

#include "explorer/hook.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::seam {

namespace hook = verify::hook;

constexpr std::memory_order load_part(std::memory_order order) noexcept {
  if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
  if (order == std::memory_order_release) return std::memory_order_relaxed;
  return order;
}

template <class T>
class Atomic {
  using Op = hook::Op;
  using Order = std::memory_order;
  static constexpr Order seq_cst = std::memory_order_seq_cst;
  using Difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr Atomic() noexcept : Atomic(T{}) {}
  constexpr Atomic(T value) noexcept : value_(value) {
    if (!std::is_constant_evaluated() && hook::exploring()) hook::created(this);
  }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order order = seq_cst) const noexcept {
    if (!hook::exploring()) return value_.load(order);
    hook::point({Op::load, this, order, is_pointer});
    T value;
    if (!hook::pending_store(this, &value, sizeof value)) value = value_.load(std::memory_order_relaxed);
    hook::done(hook::to_bits(value), hook::to_bits(value), false, order);
    return value;
  }
  void store(T value, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.store(value, order);
    hook::point({Op::store, this, order, is_pointer});
    const T before = value_.load(std::memory_order_relaxed);
    if (hook::store_delayed()) {
      hook::buffer_store(this, &value, sizeof value, [](void* object, const void* bytes) {
        T late;
        std::memcpy(&late, bytes, sizeof late);
        static_cast<Atomic*>(object)->value_.store(late, std::memory_order_relaxed);
      });
    } else {
      value_.store(value, std::memory_order_relaxed);
    }
    hook::done(hook::to_bits(before), hook::to_bits(value), true, order);
  }
  T exchange(T value, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.exchange(value, order);
    return update(Op::exchange, order, [&](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure) noexcept {
    if (!hook::exploring()) return value_.compare_exchange_strong(expected, desired, success, failure);
    return compare_exchange(Op::compare_exchange, expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order, load_part(order));
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure) noexcept {
    if (!hook::exploring()) return value_.compare_exchange_weak(expected, desired, success, failure);
    return compare_exchange(Op::compare_exchange_weak, expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = seq_cst) noexcept {
    return compare_exchange_weak(expected, desired, order, load_part(order));
  }

  T fetch_add(Difference delta, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.fetch_add(delta, order);
    return update(Op::fetch_add, order, [&](T value) { return static_cast<T>(value + delta); });
  }
  T fetch_sub(Difference delta, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.fetch_sub(delta, order);
    return update(Op::fetch_sub, order, [&](T value) { return static_cast<T>(value - delta); });
  }
  T fetch_and(T bits, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.fetch_and(bits, order);
    return update(Op::fetch_and, order, [&](T value) { return static_cast<T>(value & bits); });
  }
  T fetch_or(T bits, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.fetch_or(bits, order);
    return update(Op::fetch_or, order, [&](T value) { return static_cast<T>(value | bits); });
  }
  T fetch_xor(T bits, Order order = seq_cst) noexcept {
    if (!hook::exploring()) return value_.fetch_xor(bits, order);
    return update(Op::fetch_xor, order, [&](T value) { return static_cast<T>(value ^ bits); });
  }

  operator T() const noexcept { return load(); }
  T operator=(T value) noexcept {
    store(value);
    return value;
  }
  T operator++() noexcept { return static_cast<T>(fetch_add(1) + 1); }
  T operator++(int) noexcept { return fetch_add(1); }
  T operator--() noexcept { return static_cast<T>(fetch_sub(1) - 1); }
  T operator--(int) noexcept { return fetch_sub(1); }
  bool is_lock_free() const noexcept { return value_.is_lock_free(); }

  // For the seam only: the word that a real futex call needs.
  const std::atomic<T>& raw() const noexcept { return value_; }

 private:
  static constexpr bool is_pointer = std::is_pointer_v<T>;

  template <class F>
  T update(Op op, Order order, F&& change) noexcept {
    hook::point({op, this, order, is_pointer});
    const T before = value_.load(std::memory_order_relaxed);
    const T after = change(before);
    value_.store(after, std::memory_order_relaxed);
    hook::done(hook::to_bits(before), hook::to_bits(after), true, order);
    return before;
  }

  bool compare_exchange(Op op, T& expected, T desired, Order success, Order failure) noexcept {
    hook::point({op, this, success, is_pointer});
    const T before = value_.load(std::memory_order_relaxed);
    const bool equal = hook::to_bits(before) == hook::to_bits(expected);
    if (equal && !hook::cas_fails_spuriously()) {
      value_.store(desired, std::memory_order_relaxed);
      hook::done(hook::to_bits(before), hook::to_bits(desired), true, success);
      return true;
    }
    expected = before;
    hook::done(hook::to_bits(before), hook::to_bits(before), false, failure);
    return false;
  }

  static_assert(sizeof(T) <= 8, "the explorer follows values of up to eight bytes");
  std::atomic<T> value_;
};

inline void own_add(Atomic<std::uint64_t>& word, std::uint64_t more, std::memory_order order) noexcept {
  word.store(word.load(std::memory_order_relaxed) + more, order);  // relaxed: its one writer
}

inline void fence(std::memory_order order) noexcept {
  if (!hook::exploring()) return real::fence(order);
  hook::point({hook::Op::fence, nullptr, order, false});
  hook::done(0, 0, false, order);
}
inline void light_fence() noexcept {
  if (!hook::exploring()) return real::light_fence();
  hook::point({hook::Op::light_fence, nullptr, std::memory_order_seq_cst, false});
  hook::done(0, 0, false, std::memory_order_seq_cst);
}
inline void free_light_fence() noexcept {
  light_fence();
}
inline void heavy_fence() noexcept {
  if (!hook::exploring()) return real::heavy_fence();
  hook::point({hook::Op::heavy_fence, nullptr, std::memory_order_seq_cst, false});
  hook::done(0, 0, false, std::memory_order_seq_cst);
}

inline void pause() noexcept {
  if (!hook::exploring()) return real::pause();
  hook::point({hook::Op::pause, nullptr, std::memory_order_relaxed, false});
  hook::done(0, 0, false, std::memory_order_relaxed);
}
inline void yield_thread() noexcept {
  if (!hook::exploring()) return real::yield_thread();
  hook::point({hook::Op::yield, nullptr, std::memory_order_relaxed, false});
  hook::done(0, 0, false, std::memory_order_relaxed);
}
inline void sleep_ns(std::int64_t ns) noexcept {
  if (!hook::exploring()) return real::sleep_ns(ns);
  hook::point({hook::Op::sleep, nullptr, std::memory_order_relaxed, false});
  hook::advance(ns);
  hook::done(0, static_cast<std::uint64_t>(ns), false, std::memory_order_relaxed);
}

// One step to take, one to give back; whoever finds it held is not schedulable until it is free.
class ModelLock {
 public:
  ModelLock() = default;
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;

  void lock() noexcept {
    if (!hook::exploring()) {
      while (word_.exchange(1, std::memory_order_acquire) != 0) real::yield_thread();
      return;
    }
    hook::point({hook::Op::lock, &word_, std::memory_order_acquire, false});
    word_.store(1, std::memory_order_relaxed);
    hook::done(0, 1, true, std::memory_order_acquire);
  }
  bool try_lock() noexcept {
    if (!hook::exploring()) return word_.exchange(1, std::memory_order_acquire) == 0;
    hook::point({hook::Op::try_lock, &word_, std::memory_order_acquire, false});
    const std::uint32_t before = word_.exchange(1, std::memory_order_relaxed);
    hook::done(before, 1, before == 0, before == 0 ? std::memory_order_acquire : std::memory_order_relaxed);
    return before == 0;
  }
  void unlock() noexcept {
    if (!hook::exploring()) return word_.store(0, std::memory_order_release);
    hook::point({hook::Op::unlock, &word_, std::memory_order_release, false});
    word_.store(0, std::memory_order_relaxed);
    hook::done(1, 0, true, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

inline WaitResult futex_wait(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                             std::int64_t deadline) noexcept {
  if (!hook::exploring()) return real::futex_wait(word.raw(), expected, deadline);
  hook::point({hook::Op::futex_wait, &word, std::memory_order_seq_cst, false});
  const std::uint32_t value = word.raw().load(std::memory_order_relaxed);
  hook::done(value, expected, false, std::memory_order_relaxed);
  if (value != expected) return WaitResult::changed;
  if (deadline <= hook::now()) return WaitResult::timed_out;
  return hook::futex_sleep(&word, deadline) == hook::Wake::woken ? WaitResult::woken : WaitResult::timed_out;
}
inline int futex_wake(const Atomic<std::uint32_t>& word, int count) noexcept {
  if (!hook::exploring()) return real::futex_wake(word.raw(), count);
  hook::point({hook::Op::futex_wake, &word, std::memory_order_seq_cst, false});
  const int woken = hook::futex_wake(&word, count);
  hook::done(0, static_cast<std::uint64_t>(woken), false, std::memory_order_relaxed);
  return woken;
}

inline std::int64_t monotonic_ns() noexcept {
  return hook::exploring() ? hook::now() : real::monotonic_ns();
}
inline std::uint64_t random_seed() noexcept {
  return hook::exploring() ? hook::seed() : real::random_seed();
}

class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept : thread_(std::move(other.thread_)), logical_(std::exchange(other.logical_, -1)) {}
  Thread& operator=(Thread&& other) noexcept {
    thread_ = std::move(other.thread_);
    logical_ = std::exchange(other.logical_, -1);
    return *this;
  }
  template <class F>
  static Thread start(const char* name, F&& body) {
    Thread thread;
    if (hook::exploring()) {
      thread.logical_ = hook::start_thread(name, std::forward<F>(body));
    } else {
      thread.thread_ = real::Thread::start(name, std::forward<F>(body));
    }
    return thread;
  }
  void join() {
    if (logical_ >= 0) {
      hook::join_thread(std::exchange(logical_, -1));
    } else {
      thread_.join();
    }
  }
  bool joinable() const noexcept { return logical_ >= 0 || thread_.joinable(); }

 private:
  real::Thread thread_;
  int logical_ = -1;
};

}  // namespace weft::inline v0::seam

// SPDX-License-Identifier: MIT
// What: the smallest honest generator on C++20 coroutines: one pointer per element, frame from operator new or from a
// pool.
#pragma once

#include <coroutine>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

namespace bench {

// Keeps one freed frame, which is all that create-run-destroy in a loop needs: the fastest pool there can be.
struct OneFramePool {
  static inline void* kept = nullptr;
  static inline std::size_t kept_size = 0;
  static void* take(std::size_t size) {
    if (kept && kept_size >= size) return std::exchange(kept, nullptr);
    return ::operator new(size);
  }
  static void give(void* frame, std::size_t size) {
    if (kept) {
      ::operator delete(frame);
      return;
    }
    kept = frame;
    kept_size = size;
  }
};

struct FromHeap {};
struct FromPool {
  static void* operator new(std::size_t size) { return OneFramePool::take(size); }
  static void operator delete(void* frame, std::size_t size) { OneFramePool::give(frame, size); }
};

template <class T, class Memory = FromHeap>
class CxxGenerator {
 public:
  struct promise_type : Memory {
    const T* value = nullptr;
    CxxGenerator get_return_object() { return CxxGenerator(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const T& v) noexcept {
      value = &v;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }
  };
  using Handle = std::coroutine_handle<promise_type>;

  class Iterator {
   public:
    explicit Iterator(Handle handle) : handle_(handle) {}
    Iterator& operator++() {
      handle_.resume();
      return *this;
    }
    const T& operator*() const { return *handle_.promise().value; }
    bool operator==(std::default_sentinel_t) const { return handle_.done(); }

   private:
    Handle handle_;
  };

  CxxGenerator(CxxGenerator&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  CxxGenerator& operator=(CxxGenerator&&) = delete;
  ~CxxGenerator() {
    if (handle_) handle_.destroy();
  }
  void resume() { handle_.resume(); }
  Iterator begin() {
    handle_.resume();
    return Iterator(handle_);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  explicit CxxGenerator(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace bench

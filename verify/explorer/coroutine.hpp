// SPDX-License-Identifier: MIT
#pragma once
// What: the stack and registers of one logical thread, on the runtime's own context switch. Its stack is no fiber
//   stack: to the code under test a logical thread is an OS thread, which may run fibers.
// Invariants:
//   [COR-1] The C++ exception globals belong to the logical thread: a switch inside `catch` is harmless.
// Threads: the one OS thread that explores.

#include <cstddef>
#include <cstdint>

#include "weft/detail/context.hpp"
#include "weft/detail/tools.hpp"

#if defined(WEFT_CONTEXT_BOOST)
#error "the explorer runs on x86-64 and aarch64 with the runtime's own switch"
#endif

namespace weft::inline v0::verify {

class Coroutine {
 public:
  using Entry = void (*)(void* argument);
  static constexpr std::size_t stack_size = 256 * 1024;
  static constexpr std::size_t guard_size = 64 * 1024;

  Coroutine() = default;
  ~Coroutine();
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  // For the one that stands for the OS thread.
  void adopt_this_thread();
  // The next switch_to() enters entry(argument), which must not return.
  void prepare(Entry entry, void* argument);

  static void switch_to(Coroutine& from, Coroutine& to);

 private:
  struct ExceptionGlobals {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  static ExceptionGlobals& exception_globals();
  static void enter(Coroutine* self);

  detail::Context context_;
  detail::ToolState tools_;
  ExceptionGlobals exceptions_;
  std::byte* mapping_ = nullptr;  // guard, then stack
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace weft::inline v0::verify

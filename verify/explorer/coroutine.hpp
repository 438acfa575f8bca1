// SPDX-License-Identifier: MIT
#pragma once
// What: the stack and registers of one logical thread. A thin skin over ucontext until the runtime's own switch is
// here. Threads: the one OS thread that explores.

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace weft::inline v0::verify {

class Coroutine {
 public:
  using Entry = void (*)(void* argument);
  static constexpr std::size_t stack_size = 256 * 1024;

  Coroutine() = default;
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  // The next switch_to() enters entry(argument), which must not return.
  void prepare(Entry entry, void* argument) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_size);
    entry_ = entry;
    argument_ = argument;
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_size;
    context_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context_, reinterpret_cast<void (*)()>(&Coroutine::enter), 2, static_cast<unsigned>(self >> 32U),
                static_cast<unsigned>(self));
  }

  static void switch_to(Coroutine& from, Coroutine& to) { swapcontext(&from.context_, &to.context_); }

 private:
  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Coroutine*>((static_cast<std::uintptr_t>(high) << 32U) | low);
    self->entry_(self->argument_);
  }

  ucontext_t context_{};
  std::unique_ptr<std::byte[]> stack_;  // none for the one that stands for the OS thread
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace weft::inline v0::verify

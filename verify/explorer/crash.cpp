// SPDX-License-Identifier: MIT
#include "explorer/crash.hpp"

#include <cstring>

#include "explorer/execution.hpp"
#include "weft/detail/tools.hpp"

namespace weft::inline v0::verify {
namespace {

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

void on_crash(int signal) {
  // Leaves the handler for good if the code under test was running: its stack is abandoned, the alternate one is free.
  if (hook::running) crashed(name_of(signal));
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  raise(signal);
}

}  // namespace

CrashGuard::CrashGuard() {
  if (WEFT_ASAN != 0) return;
  alternate_ = std::make_unique_for_overwrite<std::byte[]>(alternate_size);
  stack_t stack = {};
  stack.ss_sp = alternate_.get();
  stack.ss_size = alternate_size;
  sigaltstack(&stack, &outer_stack_);
  struct sigaction action = {};
  action.sa_handler = &on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i) sigaction(signals[i], &action, &outer_[i]);
}

CrashGuard::~CrashGuard() {
  if (WEFT_ASAN != 0) return;
  for (std::size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i) sigaction(signals[i], &outer_[i], nullptr);
  sigaltstack(&outer_stack_, nullptr);
}

}  // namespace weft::inline v0::verify

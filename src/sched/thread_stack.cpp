// SPDX-License-Identifier: MIT
// Relaxed: the request's state word carries the frames by its release and acquire; the rest are guesses before an
// exchange that checks them.
#include "sched/thread_stack.hpp"

#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unwind.h>

#include <csignal>
#include <mutex>
#include <utility>

#include "base/in_handler.hpp"
#include "base/peek.hpp"
#include "base/sys.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {
namespace {

enum Phase : std::uint32_t { nothing, asked, filling, filled };

struct Request {
  seam::Atomic<std::uint32_t> phase{nothing};
  seam::Atomic<long> tid{0};
  ThreadStack answer;  // the handler's while `filling`, the asker's from `filled` on
};
Request request;
seam::Mutex request_mutex;

struct Registers {
  std::uintptr_t pc, sp, fp;
};

WEFT_IN_HANDLER Registers registers_of(const void* raw) {
  const auto& machine = static_cast<const ucontext_t*>(raw)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(machine.gregs[REG_RIP]), static_cast<std::uintptr_t>(machine.gregs[REG_RSP]),
          static_cast<std::uintptr_t>(machine.gregs[REG_RBP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp, machine.regs[29]};
#else
  (void)machine;
  return {0, 0, 0};
#endif
}

// The code of the unwinder: the library it is in, or the program if it is linked in [TSTK-5].
struct Code {
  std::uintptr_t low = 0, high = 0;
};
Code unwinder;  // written before the first signal is sent

WEFT_IN_HANDLER _Unwind_Reason_Code on_frame(_Unwind_Context* context, void* data) {
  auto& stack = *static_cast<ThreadStack*>(data);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (pc >= unwinder.low && pc < unwinder.high) {
    stack.count = 0;
    return _URC_END_OF_STACK;
  }
  if (pc == 0 || stack.count == ThreadStack::most) return _URC_END_OF_STACK;
  stack.frames[stack.count++] = reinterpret_cast<const void*>(pc);
  return _URC_NO_REASON;
}

WEFT_IN_HANDLER void follow_frame_pointers(const Registers& at, ThreadStack& stack) {
  stack.count = 0;
  stack.frames[stack.count++] = reinterpret_cast<const void*>(at.pc);
  std::uintptr_t low = at.sp;
  std::uintptr_t fp = at.fp;
  std::uintptr_t words[2];
  while (stack.count < ThreadStack::most && fp >= low && fp % 8 == 0 &&
         peek(words, reinterpret_cast<const void*>(fp), sizeof words) && words[1] != 0) {
    stack.frames[stack.count++] = reinterpret_cast<const void*>(words[1]);
    low = fp + sizeof words;
    fp = words[0];
  }
}

// Whose stack `sp` is in; null: a thread's own.
WEFT_IN_HANDLER const FiberCore* core_at(std::uintptr_t sp) {
  const unsigned shift = sp >> address_bits == 0 ? slot_shift_of[sp >> chunk_shift] : 0;
  return shift != 0 ? reinterpret_cast<const FiberCore*>(slot_ceiling(sp, shift) - sizeof(FiberCore)) : nullptr;
}

// Stands the thread in a call of the kernel? It is interrupted behind that instruction, or at it, to make it again.
WEFT_IN_HANDLER bool in_system_call(std::uintptr_t pc) {
#if defined(__x86_64__)
  constexpr unsigned char call[] = {0x0f, 0x05};
#else
  constexpr unsigned char call[] = {0x01, 0x00, 0x00, 0xd4};
#endif
  unsigned char code[2 * sizeof call];
  return peek(code, reinterpret_cast<const void*>(pc - sizeof call), sizeof code) &&
         (__builtin_memcmp(call, code, sizeof call) == 0 ||
          __builtin_memcmp(call, code + sizeof call, sizeof call) == 0);
}

// [TSTK-3] Then its registers are half those of one stack and half those of another. A stack that is being left or has
// just been come to stands where its context says; the frame pointer of one that begins is 0. A thread's own stack is
// not known by its address: but while it is left, the frame pointer is the other's already.
WEFT_IN_HANDLER bool may_be_switching(const Registers& at) {
  if (in_system_call(at.pc)) return false;
  const FiberCore* core = core_at(at.sp);
  if (at.fp == 0 || (core != nullptr && reinterpret_cast<std::uintptr_t>(core->ctx.sp) == at.sp)) return true;
  const FiberCore* other = core_at(at.fp);
  return other != nullptr && other != core;
}

WEFT_IN_HANDLER void name_task(std::uintptr_t sp, ThreadStack& stack) {
  stack.fiber = stack.task = 0;
  const FiberCore* core = core_at(sp);
  if (core == nullptr) return;
  stack.fiber = core->id;
  const FiberCore* root = core->root;
  if (root != nullptr && root->task != nullptr) stack.task = root->task->id.if_known();
}

WEFT_IN_HANDLER void drop_frames_before(std::uintptr_t pc, ThreadStack& stack) {
  std::size_t first = 0;
  while (first < stack.count && stack.frames[first] != reinterpret_cast<const void*>(pc)) ++first;
  for (std::size_t i = first; i < stack.count; ++i) stack.frames[i - first] = stack.frames[i];
  stack.count -= first;
}

WEFT_IN_HANDLER void on_signal(int, siginfo_t*, void* raw) {
  if (request.tid.load(std::memory_order_relaxed) != sys::gettid()) return;
  std::uint32_t expected = asked;
  // Both orders, because the function that would derive the second has a local of its own (base/in_handler.hpp).
  if (!request.phase.compare_exchange_strong(expected, filling, std::memory_order_acquire, std::memory_order_acquire))
    return;
  const Registers at = registers_of(raw);
  ThreadStack& stack = request.answer;
  stack.count = 0;
  if (!may_be_switching(at)) {
    _Unwind_Backtrace(on_frame, &stack);
    drop_frames_before(at.pc, stack);  // the handler's own
  }
  if (stack.count < 2) follow_frame_pointers(at, stack);
  name_task(at.sp, stack);
  request.phase.store(filled, std::memory_order_release);
  seam::futex_wake(request.phase, 1);
}

[[gnu::noinline]] _Unwind_Reason_Code note_caller(_Unwind_Context*, void* data) {
  *static_cast<std::uintptr_t*>(data) = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  return _URC_NO_REASON;
}

Code code_around(std::uintptr_t address) {
  Code code{address, address};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& found = *static_cast<Code*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const std::uintptr_t low = object->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || found.low < low || found.low >= low + part.p_memsz) continue;
          found = {low, low + part.p_memsz};
          return 1;
        }
        return 0;
      },
      &code);
  return code;
}

// [TSTK-4]
void prepare_unwinder() {
  static bool done = false;  // guarded by request_mutex
  if (std::exchange(done, true)) return;
  std::uintptr_t inside = 0;
  _Unwind_Backtrace(note_caller, &inside);
  unwinder = code_around(inside);
}

bool install_handler() {
  struct sigaction present{};
  if (sigaction(SIGURG, nullptr, &present) != 0) return false;
  if (present.sa_flags & SA_SIGINFO) return present.sa_sigaction == on_signal;
  if (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN) return false;  // the program's own
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGURG, &action, nullptr) == 0;
}

}  // namespace

bool take_thread_stack(long tid, std::int64_t limit_ns, ThreadStack& into) {
  const std::lock_guard guard(request_mutex);
  if (!install_handler()) return false;
  prepare_unwinder();
  request.tid.store(tid, std::memory_order_relaxed);
  request.phase.store(asked, std::memory_order_release);
  const long sent = sys::invoke(SYS_tgkill, sys::getpid(), tid, SIGURG);
  const std::int64_t deadline = seam::monotonic_ns() + limit_ns;
  std::uint32_t phase = asked;
  while (!sys::is_error(sent) && (phase = request.phase.load(std::memory_order_acquire)) != filled) {
    // Once it has begun it will end: the handler waits for nothing.
    if (seam::futex_wait(request.phase, phase, phase == asked ? deadline : seam::no_deadline) ==
            seam::WaitResult::timed_out &&
        phase == asked && request.phase.compare_exchange_strong(phase, nothing, std::memory_order_acquire))
      break;
  }
  if (phase == filled) into = request.answer;
  request.phase.store(nothing, std::memory_order_relaxed);
  return phase == filled;
}

}  // namespace weft::inline v0::detail

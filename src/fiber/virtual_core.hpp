// SPDX-License-Identifier: MIT
// What: a virtual core: a reusable stack that runs task after task. It is the root of every fiber of the task that runs
// on it, as a thread's own context is for plain threads; whoever dispatches it says which thread that is.
// Invariants
//   [VC-1] Its number comes from its slot, so no two live ones share it, and a fiber that favours it can be favoured
//          by no other.
//   [VC-2] It is freed only while it stands idle in its loop: nothing on its stack needs a destructor.
// Threads: one at a time; handed from worker to worker with synchronisation.
#pragma once

#include <unwind.h>

#include <cstddef>

#include "fiber/carrier.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

// Runs `loop(core)`, which never returns, once it is switched to. Throws StackError.
FiberCore* create_virtual_core(Carrier& carrier, std::size_t stack_size, void (*loop)(FiberCore*));
void destroy_virtual_core(Carrier& carrier, FiberCore* core) noexcept;

#if defined(WEFT_CONTEXT_BOOST)

// The exception that left (*body)(task, out), or null.
inline std::exception_ptr guarded_call(TaskCore* task, void* out, TaskAct* const* body) noexcept {
  try {
    (*body)(task, out);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

#else

extern "C" _Unwind_Exception* weft_guarded_call(TaskCore* task, void* out, TaskAct* const* body);
std::exception_ptr take_exception(_Unwind_Exception* exception) noexcept;

// Calls (*body)(task, out). What it throws comes back, and its trace is kept beside it, as for an error that leaves a
// fiber; null if it returned.
[[gnu::always_inline]] inline std::exception_ptr guarded_call(TaskCore* task, void* out,
                                                              TaskAct* const* body) noexcept {
  _Unwind_Exception* exception = weft_guarded_call(task, out, body);
  if (exception == nullptr) [[likely]]
    return nullptr;
  return take_exception(exception);
}

#endif

// The same for a function of one argument.
std::exception_ptr guarded_run(void (*body)(void*), void* argument) noexcept;

// A boundary on the stack of `self`: a task runs here that is not the one below. Signal walks end at it, it has its own
// exception state and bindings. Takes effect between construction and destruction.
class Boundary {
 public:
  Boundary(FiberCore* self, Binding* bindings) noexcept;
  ~Boundary();
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;

 private:
  FiberCore* self_;
  FiberCore* child_;
  EhGlobals eh_;
  Binding* bindings_;
  FiberCore* shared_with_;
  // Only for an inner fiber, which is no root by itself.
  struct Inner {
    SignalSet mask, pass, ends;
    FiberCore* parent;
    Place place;
    std::uint8_t flags;
  };
  Inner inner_;
  bool is_inner_;
};

}  // namespace weft::inline v0::detail

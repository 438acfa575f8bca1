// SPDX-License-Identifier: MIT
// What: the trace of the last error that left a fiber, kept beside the exception object by the thread's carrier.
// A fiber's part is taken by its entry frame's personality in the search phase and attached when the fiber has ended;
// the parts of fibers that the same exception object then ends are appended.
// Threads: the carrier's own.
#pragma once

#include <unwind.h>

#include <cstdint>
#include <exception>
#include <typeinfo>
#include <vector>

#include "weft/detail/fiber_core.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {

struct Failure {
  std::exception_ptr exception;
  Trace trace;
};

// Called with the throwing frames still on the stack.
void take_trace(FiberCore* core) noexcept;
// An exception that is no error, and of which there may be many at once: no trace is taken for it. Set once, by the
// floor that throws it, before it does; each runtime sets the same.
extern seam::Atomic<const std::type_info*> untraced_type;
bool is_untraced(const _Unwind_Exception* exception) noexcept;
void attach_trace(FiberCore* core, const std::exception_ptr& failure) noexcept;
void drop_trace(FiberCore* core) noexcept;

}  // namespace weft::inline v0::detail

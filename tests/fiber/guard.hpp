// SPDX-License-Identifier: MIT
// What: does a stack's guard work? Asked of the kernel, which must fail to write a timespec there.
#pragma once

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "base/sys.hpp"
#include "weft/detail/stack.hpp"

namespace weft_test {

inline bool faults(std::uintptr_t address) {
  namespace sys = weft::detail::sys;
  return sys::error_of(sys::invoke(SYS_clock_gettime, CLOCK_MONOTONIC, static_cast<long>(address))) == EFAULT;
}

// At both ends of the guard; the first byte above is memory.
inline bool guarded(weft::detail::Slot slot) {
  return faults(slot.base) && faults(slot.floor() - 16);
}

}  // namespace weft_test

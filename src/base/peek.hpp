// SPDX-License-Identifier: MIT
// What: reads memory of this process that may be written, or go away, meanwhile: a dump looks at stacks that run on.
// Invariants
//   [PEEK-1] Never faults: what is not mapped is an answer, not a signal. Where the kernel has no process_vm_readv, or
//            a filter refuses it, the bytes go through a pipe, which is slower and needs two descriptors.
//   [PEEK-2] What was read may be torn or stale; the caller checks afterwards whether it was still valid.
// Threads: any. Async-signal-safe.
#pragma once

#include <cstddef>

namespace weft::inline v0::detail {

bool peek(void* to, const void* from, std::size_t size) noexcept;

// Without process_vm_readv.
bool peek_by_pipe(void* to, const void* from, std::size_t size) noexcept;

template <class T>
bool peek(T& to, const T* from) noexcept {
  return peek(static_cast<void*>(&to), static_cast<const void*>(from), sizeof(T));
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: the runtimes of this process.
// Threads: any. A runtime that is visited is not destroyed meanwhile.
#pragma once

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

void add_runtime(RuntimeCore& runtime);
void remove_runtime(RuntimeCore& runtime) noexcept;
bool any_runtime() noexcept;  // without a lock: for a signal handler, or the child of a fork
bool several_runtimes() noexcept;
void for_each_runtime(void (*visit)(RuntimeCore& runtime, void* context), void* context);

}  // namespace weft::inline v0::detail

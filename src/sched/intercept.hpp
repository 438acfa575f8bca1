// SPDX-License-Identifier: MIT
// What: who is asked before a request goes out, and before something is spawned.
#pragma once

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

// Somebody above catches I/O without a function that a task could call: it is asked. Throws if it says no.
void ask_to_spawn(FiberCore* self);
inline void may_spawn() {
  FiberCore* self = current_core();
  if (self->above() & above_io) [[unlikely]]
    ask_to_spawn(self);
}
// The same for a record that is about to start: refused, it is given up together with its handle.
void may_spawn(TaskCore* task);
// The bindings that something spawned here gets, retained [SEAL-1].
Binding* inherited_bindings(FiberCore* self);

}  // namespace weft::inline v0::detail

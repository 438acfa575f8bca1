// SPDX-License-Identifier: MIT
// What: private helpers of the chain that more than one file of this floor uses.
#pragma once

#include <exception>
#include <string>

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

std::string describe(const FiberCore& core);  // fiber 12 "reader"
FiberCore* deepest(FiberCore* fiber);
FiberCore* outermost(FiberCore* fiber);
bool frozen(const FiberCore& fiber);
const Event& event_of(const FiberCore& core);
// A fiber that catches interrupts has come to this root: those of the runtime, too, are for it.
void listen_for_interrupts(FiberCore* root);
// Would one that is pending be raised here? If not, it stays pending.
bool may_be_interrupted(const FiberCore* self);
const Event& accept_end(FiberCore* self, FiberCore* fiber);
void drop_closure_of(FiberCore* fiber);
// Fills in state, event and failure of a fiber whose body is over because of an exception.
void record_end(FiberCore* fiber, std::exception_ptr failure);

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "weft/detail/gate_wait.hpp"
#include "weft/detail/point.hpp"
#include "weft/latch.hpp"
#include "weft/wait_group.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace detail {

WaitResult wait_at_gate(GateCore& gate, const char* kind, const void* object, std::int64_t deadline, Raise raise) {
  struct Wait : GateWaitOf<TaskCore> {
    Wait(GateCore& core, const WaitInfo& info) : GateWaitOf<TaskCore>(core), info_(info) {}
    WaitInfo info() const { return info_; }
    WaitInfo info_;
  };
  point(kind);
  Wait wait(gate, {kind, object, nullptr});
  return wait_on(wait, deadline, raise);
}

}  // namespace detail

std::int64_t Latch::checked(std::int64_t count) {
  if (count < 0) throw std::invalid_argument("Latch: a negative count");
  return count;
}

void Latch::refuse() {
  throw std::logic_error("Latch::count_down: by more than is left, or by a negative number");
}

void WaitGroup::refuse(const char* what) {
  throw std::logic_error(what);
}

}  // namespace weft::inline v0

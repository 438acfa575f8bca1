// SPDX-License-Identifier: MIT
#include "weft/barrier.hpp"

#include <stdexcept>

namespace weft::inline v0 {

using namespace detail;

WaitResult Barrier::wait_for_others(std::uint64_t phase, std::int64_t deadline, Raise raise) {
  struct Wait : BarrierWaitOf<TaskCore> {
    Wait(BarrierCoreOf<TaskCore>& core, std::uint64_t number, const Barrier* barrier)
        : BarrierWaitOf<TaskCore>(core, number), barrier_(barrier) {}
    WaitInfo info() const { return {"barrier", barrier_, nullptr}; }
    const Barrier* barrier_;
  };
  Wait wait(core_, phase, this);
  return wait_on(wait, deadline, raise);
}

std::int64_t Barrier::checked(std::int64_t parties) {
  if (parties < 1) throw std::invalid_argument("Barrier: at least one party");
  return parties;
}

}  // namespace weft::inline v0

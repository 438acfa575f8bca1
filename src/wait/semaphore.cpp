// SPDX-License-Identifier: MIT
#include "weft/semaphore.hpp"

#include <stdexcept>

namespace weft::inline v0 {

using namespace detail;

WaitResult Semaphore::take_slow(std::uint32_t count, std::int64_t deadline, Raise raise) {
  struct Wait : AcquireWaitOf<TaskCore> {
    Wait(SemaphoreCoreOf<TaskCore>& core, std::uint32_t wanted, const Semaphore* semaphore)
        : AcquireWaitOf<TaskCore>(core, wanted), semaphore_(semaphore) {}
    WaitInfo info() const { return {.kind = "acquire", .object = semaphore_, .last_seen = semaphore_->taker_}; }
    const Semaphore* semaphore_;
  };
  Wait wait(core_, count, this);
  return wait_on(wait, deadline, raise);
}

std::uint64_t Semaphore::checked(std::uint64_t permits) {
  if (permits > SemaphoreCoreOf<TaskCore>::most) throw std::invalid_argument("Semaphore: at most 2^62 permits");
  return permits;
}

void Semaphore::refuse_overflow() {
  throw std::overflow_error("Semaphore::release: more than 2^62 permits");
}

}  // namespace weft::inline v0

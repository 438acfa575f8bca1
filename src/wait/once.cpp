// SPDX-License-Identifier: MIT
#include "weft/once.hpp"

#include "weft/detail/worker_core.hpp"

namespace weft::inline v0 {

using namespace detail;

WaitResult Once::take_turn(std::int64_t deadline, Raise raise, bool& mine) {
  struct Wait : OnceWaitOf<TaskCore> {
    Wait(OnceCoreOf<TaskCore>& core, const Once* once)
        : OnceWaitOf<TaskCore>(core, this_task()), core_(core), once_(once) {}
    WaitInfo info() const { return {.kind = "once", .object = once_, .holder_at = core_.holder_at()}; }
    OnceCoreOf<TaskCore>& core_;
    const Once* once_;
  };
  Wait wait(core_, this);
  const WaitResult result = wait_on(wait, deadline, raise);
  mine = wait.has_turn();
  return result;
}

}  // namespace weft::inline v0

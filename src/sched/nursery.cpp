// SPDX-License-Identifier: MIT
// Waiting for children: in place where that is allowed, else parked on the count of those that run elsewhere.
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {
void join_children(NurseryCore& nursery) {
  TaskCore& self = *nursery.owner;
  bool counted = false;  // the plain count is in the word
  const WaitInfo info{"nursery", &nursery, nullptr};
  for (;;) {
    if (nursery.count.none_left(nursery.plain)) return;
    if (run_own_children(nursery, current_core_near(nursery.here))) continue;
    begin_wait(self, info, seam::no_deadline, Raise::no);
    const Ticket ticket = self.word.begin_park();
    // Children run in place since then were counted plainly again: who ends elsewhere must see the whole count.
    if (counted && nursery.plain != 0) nursery.count.add(nursery.plain);
    const bool over = counted ? nursery.count.again(ticket) : nursery.count.wait(nursery.plain, ticket);
    nursery.plain = 0;
    counted = true;
    if (over) {
      call_off_wait(self);
      return;
    }
    (void)finish_wait(self, Raise::no);
  }
}

}  // namespace weft::inline v0::detail

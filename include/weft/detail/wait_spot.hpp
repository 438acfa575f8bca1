// SPDX-License-Identifier: MIT
// What: the place of one wait for one object: its node, and whether the object has claimed it. After a claim the object
// may be gone, so whoever comes back asks here before it touches the object again.
// Threads: the waiter; whoever claims writes under the object's lock, before it delivers.
#pragma once

#include "weft/detail/wait_list.hpp"

namespace weft::inline v0::detail {

template <class Task>
class WaitSpotOf {
 public:
  WaitSpotOf() { node.winner = &claimed_; }
  WaitSpotOf(const WaitSpotOf&) = delete;
  WaitSpotOf& operator=(const WaitSpotOf&) = delete;

  // Under the object's lock: PARKING, and linked.
  void park_in(WaitListOf<Task>& list, Task& me) {
    claimed_ = nullptr;
    list.park(node, me);
  }
  bool claimed() const { return claimed_ != nullptr; }

  WaitNodeOf<Task> node;

 private:
  WaitNodeOf<Task>* claimed_ = nullptr;
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// The list of those who wait for an end: linked while they wait, and not a moment longer.
#include "sched/join_list.hpp"

#include <chrono>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "sched/waiters.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using namespace weft::detail;

namespace {

struct Waiting {
  Waiting() {
    word.make_fresh();
    (void)word.run_on(1);
  }
  TaskWord word;
};

struct Node {
  Node* next = nullptr;
  Waiting* task = nullptr;
  Ticket ticket;
  bool linked = false;
};

}  // namespace

TEST_CASE("join list: a wake right after publishing is seen, before the stack is left [W-031]") {
  weft::seam::Atomic<Node*> head{nullptr};
  weft::seam::SpinLock lock;
  Waiting task;
  Node node;
  node.task = &task;
  JoinList::announce(head, node, lock);
  CHECK(JoinList::publish(node, lock));
  CHECK(JoinList::anybody(head));
  int queued = 0;
  JoinList::wake_all(head, lock, [&](Waiting*) { ++queued; });
  CHECK(queued == 0);
  CHECK(task.word.delivered());
  CHECK(task.word.stay() == WakeReason::data);
  CHECK_FALSE(JoinList::anybody(head));
}

TEST_CASE("join list: who ends before the waiter parks takes its node, and nothing waits [JOIN-4] [HB18]") {
  weft::seam::Atomic<Node*> head{nullptr};
  weft::seam::SpinLock lock;
  Waiting task;
  Node node;
  node.task = &task;
  JoinList::announce(head, node, lock);
  CHECK(task.word.look().state() == weft::detail::TaskState::running);
  JoinList::wake_all(head, lock, [](Waiting*) {});
  CHECK_FALSE(JoinList::publish(node, lock));
  CHECK(task.word.look().state() == weft::detail::TaskState::running);
}

TEST_CASE("join list: withdrawing twice, and after somebody took the node, is harmless [W-032]") {
  weft::seam::Atomic<Node*> head{nullptr};
  weft::seam::SpinLock lock;
  Waiting tasks[3];
  Node nodes[3];
  for (int i = 0; i < 3; ++i) {
    nodes[i].task = &tasks[i];
    JoinList::announce(head, nodes[i], lock);
    CHECK(JoinList::publish(nodes[i], lock));
  }
  JoinList::withdraw(head, nodes[1], lock);
  JoinList::withdraw(head, nodes[1], lock);
  JoinList::withdraw(head, nodes[2], lock);
  JoinList::withdraw(head, nodes[2], lock);
  CHECK(head.load() == &nodes[0]);
  CHECK(nodes[0].next == nullptr);
  JoinList::wake_all(head, lock, [](Waiting*) {});
  JoinList::withdraw(head, nodes[0], lock);
  JoinList::withdraw(head, nodes[0], lock);
  CHECK(head.load() == nullptr);
  CHECK(tasks[0].word.delivered());
  CHECK_FALSE(tasks[1].word.delivered());
}

TEST_CASE("join list: whatever ends a wait, no node is left behind [V-049] [W-032]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      auto target = u.spawn(n, [] { weft::sleep(1h); });
      until_parked(target);
      const auto nodes = [&] {
        int count = 0;
        for (const TaskWaiter* at = target.core()->waiters.load(); at != nullptr; at = at->next) ++count;
        return count;
      };
      // By its time.
      CHECK_FALSE(target.wait_for(200us));
      CHECK(nodes() == 0);
      // By a cancel; its own reason comes out.
      auto joiner = u.spawn(n, [&] { (void)target.wait_for(1h); });
      until_parked(joiner);
      CHECK(nodes() == 1);
      joiner.cancel();
      joiner.wait();
      CHECK(joiner.status() == weft::TaskStatus::cancelled);
      CHECK(nodes() == 0);
      // By the end itself.
      auto last = u.spawn(n, [&] { CHECK(target.wait_for(1h)); });
      until_parked(last);
      target.cancel();
      last.join();
      CHECK(nodes() == 0);
    });
  });
}

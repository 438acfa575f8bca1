// SPDX-License-Identifier: MIT
// A select over a channel and the end of a task [SEL-7]: the end is a flag, so nobody names it as the winner; it is
// looked at again behind a fence, and found again by looking when something woke the select.
#include <memory>
#include <optional>

#include "scenarios/wait_task.hpp"
#include "sched/join_list.hpp"
#include "weft/detail/channel_case.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::verify {
namespace {

using Rules = detail::SelectRules;
using Task = WaitTask<Rules>;
using Core = Rules::Core<Item, Task>;
using Recv = Rules::Recv<Item, Task>;
using Case = Rules::Case<Task>;
using Select = Rules::Select<Task>;
using Reason = Rules::Reason;
using Word = Rules::Word;

enum class Slip { none, trusts_its_first_look, forgets_the_waiter, no_flag_after_wake };

struct Waiter {
  Waiter* next = nullptr;
  Task* task = nullptr;
  detail::Ticket ticket;
  bool linked = false;
};

struct Target {
  seam::Atomic<int> over{0};
  seam::Atomic<Waiter*> waiters{nullptr};
  seam::SpinLock lock;

  bool is_over() const { return over.load(std::memory_order_acquire) != 0; }
  void end() {
    over.store(1, std::memory_order_release);
    if (!detail::JoinList::anybody(waiters)) return;
    detail::JoinList::wake_all(waiters, lock, [](Task* task) {
      check(task != nullptr, "a node is looked at whose frame is gone");
      task->enqueue();
    });
  }
};

// As JoinCase of src/wait/select.cpp.
template <Slip slip>
class Join final : public Case {
 public:
  explicit Join(Target& target) : Case(detail::CaseKind::flag), target_(target) {}
  bool looks_ready() const final { return target_.is_over(); }
  seam::SpinLock* lock() final { return &target_.lock; }
  bool look(Task*&) final { return target_.is_over(); }
  void link(Task& task) final {
    waiter_.task = &task;
    waiter_.ticket = this->node.ticket;
    detail::JoinList::link(target_.waiters, waiter_);
  }
  void unlink() final {
    if (slip != Slip::forgets_the_waiter) detail::JoinList::unlink(target_.waiters, waiter_);
  }
  void claimed() final {}
  void leave_frame() { waiter_.task = nullptr; }

 private:
  Target& target_;
  Waiter waiter_;
};

// Side by side: their address order, in which they are locked, is the same in every run.
struct Objects {
  Core core{1};
  Target target;
};

template <Slip slip>
struct Stage {
  explicit Stage(World& world) : task(world.make<Task>("select")), objects(world.make<Objects>("objects")) {
    world.name(objects.core, "channel");
    world.name(objects.target, "target");
  }

  void call_off() {
    if (task.word.claim_own(Reason::flag) != Word::Claimed::yes)
      while (!task.word.delivered()) seam::pause();
    (void)task.word.stay();
  }

  // As SelectWait of src/wait/select.cpp; -1: asked to stop.
  int select() {
    Recv recv(core);
    Join<slip> join(target);
    Case* cases[] = {&recv, &join};
    seam::SpinLock* locks[2] = {};
    Select select(cases, locks, 2);
    Task* woken = nullptr;
    const auto end = [&](int which) {
      join.leave_frame();
      if (which == 0 && recv.value) received = recv.value->number;
      if (which != 0) check(!recv.value.has_value(), "a case that lost has received");
      return which;
    };
    if (select.look_one_by_one([](std::size_t) { return std::size_t{0}; }, woken)) {
      if (woken != nullptr) woken->deliver();
      return end(static_cast<int>(select.won()));
    }
    for (;;) {
      const bool early = slip == Slip::trusts_its_first_look;
      if (select.look_or_park(task, 0, woken)) {
        if (woken != nullptr) woken->deliver();
        return end(static_cast<int>(select.won()));
      }
      seam::heavy_fence();
      Reason reason = Reason::flag;
      if (!early && target.is_over()) {
        call_off();
      } else {
        reason = task.park();
      }
      select.unlink_losers();
      if (select.won() == Select::nobody && target.is_over() && slip != Slip::no_flag_after_wake) select.set_won(1);
      if (select.won() != Select::nobody) return end(static_cast<int>(select.won()));
      check(reason != Reason::data, "woken with data, and nothing has won");
      if (task.asked()) return end(-1);
    }
  }

  void send() {
    Item item(7);
    Task* woken = nullptr;
    check(core.try_send(item, woken) == Rules::Offer::sent, "a buffer of one takes one");
    if (woken != nullptr) woken->deliver();
  }

  void check_end() {
    std::optional<Item> left;
    Task* woken = nullptr;
    const bool there = core.try_recv(left, woken) == Rules::Take::value;
    check(won != 0 || received == 7, "won without its value");
    check(there != (received == 7), "a value was lost, or came twice");
    check(target.waiters.load(std::memory_order_relaxed) == nullptr, "a waiter is left in the list");
    const auto waiting = core.waiting();
    check(waiting.receivers == 0 && waiting.senders == 0, "a node is left in a list");
  }

  Task& task;
  Objects& objects;
  Core& core = objects.core;
  Target& target = objects.target;
  int received = 0;
  int won = -2;
};

template <Slip slip, bool sends, bool ends, bool cancels>
void meet(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  world.thread("select", [stage] { stage->won = stage->select(); });
  if (sends) world.thread("sender", [stage] { stage->send(); });
  if (ends) world.thread("target", [stage] { stage->target.end(); });
  if (cancels) world.thread("canceller", [stage] { stage->task.cancel(); });
  world.finally([stage] {
    check(stage->won >= (cancels ? -1 : 0), "ended for nothing");
    if (sends) {
      stage->check_end();
    } else {
      check(stage->target.waiters.load(std::memory_order_relaxed) == nullptr, "a waiter is left in the list");
    }
  });
}

const Register a{{.name = "select join: the end of a task alone ends it [SEL-7] [V-053]",
                  .run = meet<Slip::none, false, true, false>,
                  .preemptions = 3,
                  .asymmetric = true}};
const Register b{{.name = "select join: the end of a task against a value; one wins, nothing is lost [SEL-7]",
                  .run = meet<Slip::none, true, true, false>}};
const Register c{{.name = "select join: the end of a task against a cancel [SEL-7] [N-022]",
                  .run = meet<Slip::none, false, true, true>}};
const Register d{{.name = "select join: a value against a cancel, with a task that does not end [N-022]",
                  .run = meet<Slip::none, true, false, true>}};
const Register m1{{.name = "mutant: select join, no look after PARKING [SEL-7]",
                   .run = meet<Slip::trusts_its_first_look, false, true, false>,
                   .fails = Verdict::deadlock,
                   .preemptions = 3,
                   .asymmetric = true}};
const Register m2{{.name = "mutant: select join, its waiter stays in the list",
                   .run = meet<Slip::forgets_the_waiter, true, true, false>,
                   .fails = Verdict::crash}};
const Register m3{{.name = "mutant: select join, the flag is not looked at after the wake",
                   .run = meet<Slip::no_flag_after_wake, false, true, false>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

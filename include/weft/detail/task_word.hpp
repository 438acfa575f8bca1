// SPDX-License-Identifier: MIT
// What: the state of a task in one word, and every transition as one named function.
//
//   63                    22 21      10 9      6  5     4          3     0
//   |       ticket:42       | owner:12 | reason:4|LEFT|DELIVERED |state:4 |
//
//   state      in a run queue?   who owns the stack             who must move it on
//   free       no                nobody: the record is pooled   whoever takes it from the pool
//   fresh      no                no stack yet                   the spawner
//   runnable   yes, once         nobody                         the worker that dequeues it
//   running    no                the worker `owner`             itself
//   parking    no                until LEFT: the worker that parks it; after: nobody
//                                                               the winner of the claim, or the committer
//   suspended  no                nobody; a signal waits         its supervisor
//   joining    no                the child that runs on top of it, and has left the stack at least once
//   done, cancelled              no stack any more              whoever drops the last interest
//
//            enqueue              dequeue                 begin_park
//   fresh ------------> runnable ----------> running -------------------> parking
//                           ^                   ^  ^                         |
//                           |                   |  +--- stay: own claim, or --+
//                           |                   |       DELIVERED before LEFT |
//                           +-- the second of leave() and deliver() queues ---+
//
// PARKED is parking + LEFT. WAKING is parking with a reason.
//
// Invariants
//   [PARK-1] Other threads change the word only by the claim, a compare-exchange from {parking, this ticket, reason
//            0}, and the winner by DELIVERED. In every other state only the owner writes it, with plain stores.
//   [PARK-2] Of LEFT and DELIVERED the second queues, exactly once; before both nobody may run the stack.
//   [PARK-3] The ticket grows by one with each wait and is never reset, so (record, ticket) names one wait for ever.
//   [PARK-4] A wake without a payload sets reason and DELIVERED in one step. In two steps, a parker that meanwhile went
//            on and parked again would get the late DELIVERED of the old wait.
//   [PARK-5] What the winner writes between claim and deliver() is visible to the task when it runs (release at
//            DELIVERED, acquire at LEFT or at the look before the switch).
//   [PARK-6] Each function may be called in the states it names only (F1-F4 of the lifecycle). Debug builds check that,
//            and with WEFT_SPEC_ASSERT=1 all others: but for what counts nanoseconds, spawning and joining in place
//            above all.
// Threads: as each function says.
// Rejected: a one-bit latch beside the state (it has no reason: data and cancel both "win"); claim only when PARKED
// (two parties that meet while both are still parking abort each other for ever).
// Relaxed: the owner's own loads and stores while nobody else may write [PARK-1], published by the queue that the task
// goes through next; a first load before a compare-exchange is a guess that the exchange checks.
#pragma once

#include <cstdint>

#include "weft/detail/assert.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

enum class TaskState : std::uint8_t { free, fresh, runnable, running, parking, suspended, joining, done, cancelled };
const char* to_string(TaskState state);

// Why a wait ended. 0 is "not yet".
enum class WakeReason : std::uint8_t { none, data, closed, cancel, timeout, signal, flag, child };
const char* to_string(WakeReason reason);

struct Ticket {
  std::uint64_t number = 0;
  friend constexpr bool operator==(Ticket, Ticket) = default;
};

// A word that has been read: the fields of one moment.
class TaskMoment {
 public:
  static constexpr std::uint64_t state_mask = 0xf;
  static constexpr std::uint64_t delivered_bit = 1u << 4;
  static constexpr std::uint64_t left_bit = 1u << 5;
  static constexpr unsigned reason_shift = 6;
  static constexpr std::uint64_t reason_mask = std::uint64_t{0xf} << reason_shift;
  static constexpr unsigned owner_shift = 10;
  static constexpr std::uint64_t owner_mask = std::uint64_t{0xfff} << owner_shift;
  static constexpr unsigned ticket_shift = 22;
  static constexpr std::uint64_t ticket_mask = ~std::uint64_t{0} << ticket_shift;

  constexpr explicit TaskMoment(std::uint64_t bits) : bits_(bits) {}
  constexpr TaskMoment(TaskState state, Ticket ticket, unsigned owner)
      : bits_(static_cast<std::uint64_t>(state) | std::uint64_t{owner} << owner_shift | ticket.number << ticket_shift) {
  }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr TaskState state() const { return static_cast<TaskState>(bits_ & state_mask); }
  constexpr bool delivered() const { return bits_ & delivered_bit; }
  constexpr bool left() const { return bits_ & left_bit; }
  constexpr WakeReason reason() const { return static_cast<WakeReason>((bits_ & reason_mask) >> reason_shift); }
  constexpr unsigned owner() const { return static_cast<unsigned>((bits_ & owner_mask) >> owner_shift); }
  constexpr Ticket ticket() const { return {bits_ >> ticket_shift}; }
  constexpr bool is_wait(Ticket t) const { return ticket() == Ticket{t.number & low_ticket}; }
  // Parking, no reason yet, this ticket: one comparison.
  constexpr bool claimable(Ticket t) const {
    return (bits_ & (state_mask | reason_mask | ticket_mask)) == TaskMoment(TaskState::parking, t, 0).bits();
  }

 private:
  static constexpr std::uint64_t low_ticket = ~std::uint64_t{0} >> ticket_shift;
  std::uint64_t bits_;
};

class TaskWord {
 public:
  enum class [[nodiscard]] Claimed : bool { no, yes };
  enum class [[nodiscard]] Queue : bool { not_you, you };  // `you`: make_runnable() and put it in a run queue
  enum class [[nodiscard]] Wake : std::uint8_t { lost, parker_goes_on, queue_it };

  TaskMoment look() const { return TaskMoment(word_.load(std::memory_order_acquire)); }

  // --- The owner, while nobody else may write [PARK-1].

  // The rules of run_on(), make_runnable() and leave(), which every switch goes through: debug builds ask by
  // themselves, others only where their caller wants it.
  void check_may_run() const {
    WEFT_SPEC(is(TaskState::fresh) || is(TaskState::runnable) || is(TaskState::joining),
              "only a task that was dequeued, or whose child has ended on its stack, begins to run");
  }
  void check_may_be_queued() const {
    WEFT_SPEC(
        is(TaskState::fresh) || is(TaskState::running) || is(TaskState::suspended) ||
            (is(TaskState::parking) && mine().left() && mine().delivered() && mine().reason() != WakeReason::none),
        "only a new task, one that yields, or one that is claimed, delivered and left may be queued");
  }

  void check_may_be_left() const {
    WEFT_SPEC(look().state() == TaskState::parking && !look().left(), "only a parking task is left, once");
  }

  // fresh or runnable -> running, by whoever took it from its queue. Returns why its wait ended, if it waited.
  WakeReason run_on(unsigned owner) { return run_as(running_on(owner)); }
  // What a task that runs there has in its word, but for the ticket.
  static constexpr TaskMoment running_on(unsigned owner) { return {TaskState::running, Ticket{}, owner}; }
  WakeReason run_as(TaskMoment running) {
#ifndef NDEBUG
    check_may_run();
#endif
    const TaskMoment now = mine();
    // [LP dequeued to RUNNING, W-108] after an acquiring pop; release: who sees it running sees on what it runs
    word_.store((now.bits() & TaskMoment::ticket_mask) | running.bits(), std::memory_order_release);
    return now.reason();
  }
  // fresh, or woken by whom Queue::you names: about to stand in a run queue, whose push publishes it. Keeps the reason.
  void make_runnable() {
#ifndef NDEBUG
    check_may_be_queued();
#endif
    // [LP made RUNNABLE, W-107] by who owns the word; the push that follows publishes it (release in deque, inbox,
    // ring and lock), so whoever pops it sees the state
    word_.store(runnable_from(mine()), std::memory_order_relaxed);
  }
  void make_fresh() {
    WEFT_SPEC(is(TaskState::free) || is_over(), "only a record that nobody uses becomes a new task");
    set(TaskState::fresh, 0, std::memory_order_relaxed);
  }
  // The same for a record from the pool: its word is its ticket, and free is no bit at all.
  void take_fresh() {
    static_assert(static_cast<int>(TaskState::free) == 0);
    WEFT_DEBUG(is(TaskState::free), "only a record that nobody uses becomes a new task");
    seam::own_add(word_, static_cast<std::uint64_t>(TaskState::fresh), std::memory_order_relaxed);
  }
  void make_free() { set(TaskState::free, 0, std::memory_order_relaxed); }
  // running -> free, of a task that never left the place where start_in_place() put it: nobody is left to see that it
  // is done.
  [[gnu::always_inline]] void end_in_place(TaskMoment here) {
    WEFT_DEBUG(is(TaskState::running) && (mine().bits() & ~TaskMoment::ticket_mask) == here.bits(),
               "only a running task ends, where it began");
    static_assert(static_cast<int>(TaskState::free) == 0);
    seam::own_add(word_, ~here.bits() + 1, std::memory_order_release);
  }
  void suspend() {
    WEFT_SPEC(is(TaskState::running), "only a running task suspends");
    set(TaskState::suspended, 0, std::memory_order_release);
  }
  // running -> joining: the child that runs on its stack has left it for the first time [PLACE-2].
  void join_in_place() {
    WEFT_SPEC(is(TaskState::running), "only a running task joins");
    word_.store(mine().bits() + joining_from_running, std::memory_order_relaxed);
  }
  // And back, on whichever worker it is by then: the moment says running, and the owner.
  void joined(TaskMoment here) {
    WEFT_SPEC(is(TaskState::joining), "only who joins in place has joined");
    word_.store((mine().bits() & TaskMoment::ticket_mask) | here.bits(), std::memory_order_release);
  }
  // fresh -> running on its joiner's stack; the moment as above.
  [[gnu::always_inline]] void start_in_place(TaskMoment here) {
    WEFT_DEBUG(is(TaskState::fresh), "only a new task starts");
    // a fresh word is its ticket and its state
    seam::own_add(word_, here.bits() - static_cast<std::uint64_t>(TaskState::fresh), std::memory_order_release);
  }
  // The same for a record of which nobody was to know before: free -> running.
  [[gnu::always_inline]] void begin_in_place(TaskMoment here) {
    WEFT_DEBUG(is(TaskState::free), "only a record that nobody uses becomes a new task");
    seam::own_add(word_, here.bits(), std::memory_order_release);
  }
  // fresh: it was never run. Checked: as for begin_park().
  template <bool Checked = true>
  void finish(bool cancelled) {
    WEFT_SPEC_IF(Checked, is(TaskState::running) || is(TaskState::fresh), "only a running task ends");
    set(cancelled ? TaskState::cancelled : TaskState::done, 0, std::memory_order_release);
  }

  // running -> parking, with the next ticket. From here on the claim is open: call it under the lock of the object
  // that will wake the task, before the node is linked. No user code, allocation or syscall until leave() or stay().
  // Checked: false on a worker of which nobody wants it.
  template <bool Checked = true>
  Ticket begin_park() {
    const TaskMoment now = mine();
    WEFT_SPEC_IF(Checked, now.state() == TaskState::running, "only a running task parks");
    const TaskMoment next(now.bits() + one_parking);  // a running word has neither reason nor LEFT nor DELIVERED
    // [LP enter PARKING, W-109] the claim is open from here: what the task wrote before, its wait block above all,
    // is visible to who wins it
    word_.store(next.bits(), std::memory_order_release);
    return next.ticket();
  }

  // The parker found a flag set after begin_park and claims itself. `no`: somebody else has; then wait for DELIVERED
  // as usual, by leaving. `yes`: call stay().
  Claimed claim_own(WakeReason reason) { return claim(mine().ticket(), reason); }

  // A look before the switch: with DELIVERED there is no need to leave.
  bool delivered() const { return look().delivered(); }

  // parking -> running without having left: after its own claim, or once delivered() said so.
  WakeReason stay() {
    const TaskMoment now = look();
    WEFT_SPEC(now.state() == TaskState::parking && !now.left() && now.reason() != WakeReason::none,
              "only a claimed parker that has not left goes on");
    word_.store(TaskMoment(TaskState::running, now.ticket(), now.owner()).bits(), std::memory_order_relaxed);
    return now.reason();
  }

  // --- Whoever runs after the switch (the successor, or the worker's own stack): the task's stack is quiet now.
  [[gnu::always_inline]] Queue leave() {
    // [LP commit PARKED, W-111, W-112] release: the stack is left; acquire: a DELIVERED that came before brings what
    // its waker wrote. One step decides who queues [PARK-2], so there is no separate look at a latch
    // (added, as it is not set: one instruction that gives the old word)
    const TaskMoment old(word_.fetch_add(TaskMoment::left_bit, std::memory_order_acq_rel));
    WEFT_DEBUG(old.state() == TaskState::parking && !old.left(), "only a parking task is left, once");
    return old.delivered() ? Queue::you : Queue::not_you;
  }

  // --- Anybody.

  // Wins the right to end this wait. The winner moves value and winning case into the wait block, then deliver()s.
  Claimed claim(Ticket ticket, WakeReason reason) {
    if (reason == WakeReason::none) WEFT_SPEC(false, "who ends a wait says why");  // usually a constant
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (TaskMoment(seen).claimable(ticket)) {
      const std::uint64_t claimed = seen | static_cast<std::uint64_t>(reason) << TaskMoment::reason_shift;
      // [LP claim, W-113, W-114, W-115] by a waker, or by the parker itself, PARKING or PARKED alike: acquire: the
      // wait block; release: for the next who looks. The winner alone goes on
      if (word_.compare_exchange_weak(seen, claimed, std::memory_order_acq_rel, std::memory_order_relaxed))
        return Claimed::yes;
    }
    return Claimed::no;
  }

  // By the winner of claim(), after its last write for the task.
  Queue deliver() {
    const TaskMoment now = claimed_wait();
    if (now.left()) [[likely]] {
      // Claimed and left: nobody but the winner may write it any more [PARK-1], and the queue it goes to publishes it.
      word_.store(now.bits() | TaskMoment::delivered_bit, std::memory_order_relaxed);
      return Queue::you;
    }
    // [LP delivered, W-116] release: value and winning case, before the task is queued; acquire: LEFT, so that the
    // stack may be run
    const TaskMoment old(word_.fetch_add(TaskMoment::delivered_bit, std::memory_order_acq_rel));
    return old.left() ? Queue::you : Queue::not_you;
  }

  // deliver(), and make_runnable() where that says `you`: then in one store, as nobody else may write.
  template <bool Checked = true>
  Queue deliver_runnable() {
    const TaskMoment now = claimed_wait<Checked>();
    if (now.left()) [[likely]] {
      word_.store(runnable_from(now), std::memory_order_relaxed);
      return Queue::you;
    }
    const Queue who = deliver();
    if (who == Queue::you) make_runnable();
    return who;
  }

  // The same by who took a node from a list, with the node's ticket: it is the wait that was claimed, or a bug.
  Queue deliver(Ticket ticket) {
    WEFT_SPEC(look().is_wait(ticket), "a node was taken whose wait is over: its ticket was not looked at");
    return deliver();
  }

  // claim and deliver in one step, for wakes that bring nothing (cancel, timer, flag) [PARK-4].
  Wake wake(Ticket ticket, WakeReason reason) {
    WEFT_DEBUG(reason != WakeReason::none, "who ends a wait says why");
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (TaskMoment(seen).claimable(ticket)) {
      const std::uint64_t woken =
          seen | static_cast<std::uint64_t>(reason) << TaskMoment::reason_shift | TaskMoment::delivered_bit;
      // [LP wake without payload] claim and delivery in one step [PARK-4]
      if (word_.compare_exchange_weak(seen, woken, std::memory_order_acq_rel, std::memory_order_relaxed))
        return TaskMoment(seen).left() ? Wake::queue_it : Wake::parker_goes_on;
    }
    return Wake::lost;
  }

 private:
  // From running to parking with the next ticket.
  static constexpr std::uint64_t one_parking = (std::uint64_t{1} << TaskMoment::ticket_shift) +
                                               static_cast<std::uint64_t>(TaskState::parking) -
                                               static_cast<std::uint64_t>(TaskState::running);

  static constexpr std::uint64_t joining_from_running =
      static_cast<std::uint64_t>(TaskState::joining) - static_cast<std::uint64_t>(TaskState::running);

  static std::uint64_t runnable_from(TaskMoment now) {
    return (now.bits() & (TaskMoment::ticket_mask | TaskMoment::reason_mask)) |
           static_cast<std::uint64_t>(TaskState::runnable);
  }
  // By its winner. acquire: LEFT, so that the stack may be run
  template <bool Checked = true>
  TaskMoment claimed_wait() const {
    const TaskMoment now = look();
    WEFT_SPEC_IF(Checked, now.state() == TaskState::parking && now.reason() != WakeReason::none && !now.delivered(),
                 "only who has claimed a wait delivers it, once");
    return now;
  }
  bool is(TaskState state) const { return mine().state() == state; }
  bool is_over() const { return mine().state() >= TaskState::done; }
  TaskMoment mine() const { return TaskMoment(word_.load(std::memory_order_relaxed)); }
  [[gnu::always_inline]] void set(TaskState state, unsigned owner, std::memory_order order) {
    word_.store(TaskMoment(state, mine().ticket(), owner).bits(), order);
  }

  seam::Atomic<std::uint64_t> word_{TaskMoment(TaskState::free, {}, 0).bits()};
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// The state of a task in one word: every transition that is legal, and that the others are refused.
#include "weft/detail/task_word.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "weft/detail/assert.hpp"

using namespace weft::detail;

namespace {

using Claimed = TaskWord::Claimed;
using Queue = TaskWord::Queue;
using Wake = TaskWord::Wake;

// Where a word can stand, and how it gets there.
struct Stand {
  const char* name;
  std::function<void(TaskWord&)> reach;
  bool claimable = false;
};

void run(TaskWord& word) {
  word.make_fresh();
  (void)word.run_on(3);
}
void park(TaskWord& word) {
  run(word);
  (void)word.begin_park();
}

// As the dispatcher and make_ready do, who ask first.
void dequeue(TaskWord& word, unsigned owner) {
  word.check_may_run();
  (void)word.run_on(owner);
}
void commit(TaskWord& word) {
  word.check_may_be_left();
  (void)(word.leave() == Queue::you);
}
void queue(TaskWord& word) {
  word.check_may_be_queued();
  word.make_runnable();
}

const std::vector<Stand>& stands() {
  static const std::vector<Stand> all{
      {"FREE", [](TaskWord&) {}},
      {"INIT", [](TaskWord& w) { w.make_fresh(); }},
      {"RUNNABLE",
       [](TaskWord& w) {
         w.make_fresh();
         w.make_runnable();
       }},
      {"RUNNING", run},
      {"PARKING", park, true},
      {"PARKED",
       [](TaskWord& w) {
         park(w);
         CHECK(w.leave() == Queue::not_you);
       },
       true},
      {"PARKING, claimed",
       [](TaskWord& w) {
         park(w);
         CHECK(w.claim(w.look().ticket(), WakeReason::data) == Claimed::yes);
       }},
      {"PARKED, claimed (WAKING)",
       [](TaskWord& w) {
         park(w);
         CHECK(w.leave() == Queue::not_you);
         CHECK(w.claim(w.look().ticket(), WakeReason::data) == Claimed::yes);
       }},
      {"SUSPENDED",
       [](TaskWord& w) {
         run(w);
         w.suspend();
       }},
      {"JOINING",
       [](TaskWord& w) {
         run(w);
         w.join_in_place();
       }},
      {"DONE",
       [](TaskWord& w) {
         run(w);
         w.finish(false);
       }},
      {"CANCELLED",
       [](TaskWord& w) {
         run(w);
         w.finish(true);
       }},
  };
  return all;
}

struct Illegal : std::logic_error {
  using std::logic_error::logic_error;
};

// Refused transitions become exceptions here.
class Refusing {
 public:
  Refusing() : before_(set_assert_hook([](const char* text, const char*, const char*, int) { throw Illegal(text); })) {
    spec_assertions = true;
  }
  ~Refusing() { set_assert_hook(before_); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;

 private:
  AssertHook before_;
};

bool is_legal(const std::function<void(TaskWord&)>& act, TaskWord& word) {
  try {
    act(word);
  } catch (const Illegal&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE(
    "task word: every state can be reached and is named [W-017] [W-018] [W-019] [W-020] [W-021] [W-022] [W-023] "
    "[W-024]") {
  const auto moment = [](std::size_t i) {
    TaskWord word;
    stands()[i].reach(word);
    return word.look();
  };
  CHECK(moment(0).state() == TaskState::free);
  CHECK(moment(1).state() == TaskState::fresh);
  CHECK(moment(2).state() == TaskState::runnable);
  CHECK(moment(3).state() == TaskState::running);
  CHECK(moment(3).owner() == 3);
  CHECK(moment(4).state() == TaskState::parking);
  CHECK_FALSE(moment(4).left());
  CHECK(moment(5).state() == TaskState::parking);
  CHECK(moment(5).left());
  CHECK(moment(7).reason() == WakeReason::data);
  CHECK(moment(8).state() == TaskState::suspended);
  CHECK(moment(9).state() == TaskState::joining);
  CHECK(moment(10).state() == TaskState::done);
  CHECK(moment(11).state() == TaskState::cancelled);
  const char* names[] = {"FREE", "INIT", "RUNNABLE", "RUNNING", "PARKING", "SUSPENDED", "JOINING", "DONE", "CANCELLED"};
  for (unsigned i = 0; i < 9; ++i) CHECK(std::string(to_string(static_cast<TaskState>(i))) == names[i]);
}

TEST_CASE(
    "task word: a wake does something in PARKING and PARKED only, everywhere else nothing [W-048] [W-047] [V-052]") {
  for (const Stand& stand : stands()) {
    INFO("state ", stand.name);
    TaskWord word;
    stand.reach(word);
    const std::uint64_t before = word.look().bits();
    const Ticket ticket = word.look().ticket();
    CHECK(word.claim({ticket.number + 1}, WakeReason::data) == Claimed::no);
    CHECK(word.wake({ticket.number + 1}, WakeReason::cancel) == Wake::lost);
    CHECK(word.look().bits() == before);
    const Wake first = word.wake(ticket, WakeReason::cancel);
    CHECK((first != Wake::lost) == stand.claimable);
    // The second of two wakes never does anything.
    const std::uint64_t after = word.look().bits();
    CHECK(word.wake(ticket, WakeReason::timeout) == Wake::lost);
    CHECK(word.look().bits() == after);
    if (!stand.claimable) CHECK(after == before);
  }
}

TEST_CASE(
    "task word: a wake in PARKING is the latch: nobody queues, the parker goes on [W-038] [W-044] [W-046] [W-105] "
    "[V-022]") {
  TaskWord word;
  park(word);
  CHECK(word.wake(word.look().ticket(), WakeReason::flag) == Wake::parker_goes_on);
  CHECK(word.look().state() == TaskState::parking);
  CHECK(word.delivered());
  CHECK(word.stay() == WakeReason::flag);
  CHECK(word.look().state() == TaskState::running);
  CHECK(word.look().owner() == 3);
  // The latch was consumed: the next wait sleeps.
  (void)word.begin_park();
  CHECK_FALSE(word.delivered());
  CHECK(word.leave() == Queue::not_you);
  // The same by a cancel, found by who commits.
  TaskWord other;
  park(other);
  CHECK(other.wake(other.look().ticket(), WakeReason::cancel) == Wake::parker_goes_on);
  CHECK(other.leave() == Queue::you);
  other.make_runnable();
  CHECK(other.run_on(1) == WakeReason::cancel);
}

TEST_CASE("task word: of leave and deliver the second queues, once, whatever comes between [W-028] [W-098] [V-020]") {
  for (const bool leaves_first : {true, false}) {
    TaskWord word;
    park(word);
    const Ticket ticket = word.look().ticket();
    int queued = 0;
    CHECK(word.claim(ticket, WakeReason::data) == Claimed::yes);
    CHECK(word.claim(ticket, WakeReason::cancel) == Claimed::no);
    CHECK(word.wake(ticket, WakeReason::timeout) == Wake::lost);
    if (leaves_first) {
      queued += word.leave() == Queue::you;
      CHECK(queued == 0);
      queued += word.deliver() == Queue::you;
    } else {
      queued += word.deliver() == Queue::you;
      CHECK(queued == 0);
      queued += word.leave() == Queue::you;
    }
    CHECK(queued == 1);
    word.make_runnable();
    CHECK(word.look().state() == TaskState::runnable);
    CHECK(word.run_on(2) == WakeReason::data);
    CHECK(word.look().reason() == WakeReason::none);
  }
}

TEST_CASE("task word: the ticket grows by one with each wait and survives the record's life [W-039] [W-041] [W-086]") {
  TaskWord word;
  std::uint64_t last = word.look().ticket().number;
  for (int life = 0; life < 3; ++life) {
    run(word);
    for (int wait = 0; wait < 3; ++wait) {
      const Ticket ticket = word.begin_park();
      CHECK(ticket.number == last + 1);
      CHECK(word.look().reason() == WakeReason::none);
      CHECK_FALSE(word.look().delivered());
      last = ticket.number;
      CHECK(word.claim_own(WakeReason::flag) == Claimed::yes);
      (void)word.stay();
    }
    word.finish(false);
    word.make_free();
    CHECK(word.look().ticket().number == last);
  }
}

TEST_CASE("task word: a stale token of a recycled record wakes nobody [W-086] [W-087] [W-088] [B6]") {
  TaskWord word;
  park(word);
  const Ticket stale = word.look().ticket();
  CHECK(word.wake(stale, WakeReason::data) == Wake::parker_goes_on);
  (void)word.stay();
  word.finish(false);
  word.make_free();
  // The next occupant parks on the same record.
  park(word);
  const std::uint64_t before = word.look().bits();
  CHECK(word.wake(stale, WakeReason::data) == Wake::lost);
  CHECK(word.claim(stale, WakeReason::data) == Claimed::no);
  CHECK(word.look().bits() == before);
  // The word holds 42 bits of it: a token of 2^42 waits ago is the one that would pass.
  CHECK(word.claim({word.look().ticket().number + (std::uint64_t{1} << 42)}, WakeReason::data) == Claimed::yes);
}

TEST_CASE("task word: reasons are told apart [V-050]") {
  for (const WakeReason reason : {WakeReason::data, WakeReason::closed, WakeReason::cancel, WakeReason::timeout,
                                  WakeReason::signal, WakeReason::flag, WakeReason::child}) {
    TaskWord word;
    park(word);
    CHECK(word.wake(word.look().ticket(), reason) == Wake::parker_goes_on);
    CHECK(word.stay() == reason);
    TaskWord parked;
    park(parked);
    CHECK(parked.leave() == Queue::not_you);
    CHECK(parked.wake(parked.look().ticket(), reason) == Wake::queue_it);
    parked.make_runnable();
    CHECK(parked.run_on(1) == reason);
  }
}

TEST_CASE(
    "task word: two wakers and a parker race a hundred thousand times: one queue entry each [W-028] [V-004] [B3]") {
  constexpr std::uint64_t rounds = 100'000;
  TaskWord word;
  word.make_fresh();
  (void)word.run_on(1);
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint64_t> queued{0};
  std::atomic<std::uint64_t> won{0};
  std::atomic<bool> stop{false};
  const auto waker = [&](WakeReason reason) {
    std::uint64_t last = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const std::uint64_t now = ticket.load(std::memory_order_acquire);
      if (now == last) {
        std::this_thread::yield();
        continue;
      }
      last = now;
      const Wake outcome = word.wake({now}, reason);
      if (outcome != Wake::lost) won.fetch_add(1, std::memory_order_relaxed);
      if (outcome == Wake::queue_it) queued.fetch_add(1, std::memory_order_release);
    }
  };
  std::thread first(waker, WakeReason::data);
  std::thread second(waker, WakeReason::cancel);
  std::uint64_t entries = 0;
  std::uint64_t by_self = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Ticket mine = word.begin_park();
    ticket.store(mine.number, std::memory_order_release);
    if (word.leave() == Queue::you) {
      ++by_self;
    } else {
      while (queued.load(std::memory_order_acquire) == entries) std::this_thread::yield();
      ++entries;
      REQUIRE(queued.load(std::memory_order_acquire) == entries);
    }
    word.make_runnable();
    (void)word.run_on(1);
  }
  stop = true;
  first.join();
  second.join();
  CHECK(entries + by_self == rounds);
  CHECK(won == rounds);
  CHECK(queued == entries);
}

// W-043: here the commit is one fetch_or, which cannot fail; committing what is not PARKING is the fatal assertion.
TEST_CASE(
    "task word: what a transition's actor may not do stops the program [V-018] [W-033] [W-043] [W-090] [W-091] [W-092] "
    "[W-093] [W-094] [W-095] "
    "[W-096] [W-097] [W-098] [W-099] [W-100] [W-101] [W-103] [W-104] [W-026]") {
  const Refusing refusing;
  struct Row {
    const char* name;
    std::function<void(TaskWord&)> act;
    std::vector<std::string> legal_in;
  };
  const std::string claimed = "PARKING, claimed";
  const std::string waking = "PARKED, claimed (WAKING)";
  const std::vector<Row> rows{
      // dequeue: what is not runnable (or new) is never run
      {"run_on", [](TaskWord& w) { dequeue(w, 1); }, {"INIT", "RUNNABLE", "JOINING"}},
      // enqueue: new, or a running task that yields; never PARKED without its claim and delivery
      {"make_runnable", [](TaskWord& w) { queue(w); }, {"INIT", "RUNNING", "SUSPENDED"}},
      {"begin_park", [](TaskWord& w) { (void)w.begin_park(); }, {"RUNNING"}},
      {"stay", [](TaskWord& w) { (void)w.stay(); }, {claimed}},
      {"leave", [](TaskWord& w) { commit(w); }, {"PARKING", claimed}},
      {"deliver", [](TaskWord& w) { (void)(w.deliver() == Queue::you); }, {claimed, waking}},
      {"suspend", [](TaskWord& w) { w.suspend(); }, {"RUNNING"}},
      {"finish", [](TaskWord& w) { w.finish(false); }, {"RUNNING", "INIT"}},
      {"cancelled", [](TaskWord& w) { w.finish(true); }, {"RUNNING", "INIT"}},
      {"join_in_place", [](TaskWord& w) { w.join_in_place(); }, {"RUNNING"}},
      {"make_fresh", [](TaskWord& w) { w.make_fresh(); }, {"FREE", "DONE", "CANCELLED"}},
  };
  for (const Row& row : rows) {
    for (const Stand& stand : stands()) {
      INFO(row.name, " in ", stand.name);
      TaskWord word;
      stand.reach(word);
      const bool expected = std::find(row.legal_in.begin(), row.legal_in.end(), stand.name) != row.legal_in.end();
      CHECK(is_legal(row.act, word) == expected);
    }
  }
  // WAKING -> RUNNABLE only when both LEFT and DELIVERED are there.
  TaskWord word;
  park(word);
  CHECK(word.leave() == Queue::not_you);
  CHECK(word.claim(word.look().ticket(), WakeReason::data) == Claimed::yes);
  CHECK_FALSE(is_legal([](TaskWord& w) { queue(w); }, word));
  CHECK(word.deliver() == Queue::you);
  CHECK(is_legal([](TaskWord& w) { queue(w); }, word));
}

TEST_CASE("task word: one owner while it runs and parks, and no second one [W-025] [V-018]") {
  const Refusing refusing;
  TaskWord word;
  run(word);
  CHECK(word.look().owner() == 3);
  CHECK_FALSE(is_legal([](TaskWord& w) { dequeue(w, 4); }, word));
  CHECK(word.look().owner() == 3);
  (void)word.begin_park();
  CHECK(word.look().owner() == 3);
  CHECK_FALSE(is_legal([](TaskWord& w) { dequeue(w, 4); }, word));
  CHECK(word.claim_own(WakeReason::flag) == Claimed::yes);
  (void)word.stay();
  CHECK(word.look().owner() == 3);
  // Queued it has none.
  word.make_runnable();
  CHECK(word.look().owner() == 0);
  (void)word.run_on(4);
  CHECK(word.look().owner() == 4);
}

// F3 was decided otherwise: PARKING may be claimed, the claim being the latch, and never queued.
TEST_CASE("task word: a waker that finds PARKING claims and queues nothing; the parker goes on by itself [W-027]") {
  const Refusing refusing;
  for (const bool in_one_step : {true, false}) {
    TaskWord word;
    park(word);
    const Ticket ticket = word.look().ticket();
    if (in_one_step) {
      CHECK(word.wake(ticket, WakeReason::flag) == Wake::parker_goes_on);
    } else {
      CHECK(word.claim(ticket, WakeReason::flag) == Claimed::yes);
      CHECK(word.deliver(ticket) == Queue::not_you);
    }
    CHECK_FALSE(is_legal([](TaskWord& w) { queue(w); }, word));
    CHECK_FALSE(is_legal([](TaskWord& w) { dequeue(w, 1); }, word));
    CHECK(word.look().state() == TaskState::parking);
    CHECK(word.stay() == WakeReason::flag);
  }
}

TEST_CASE("task word: a removal without its claim, or with another wait's ticket, stops the program [W-120]") {
  const Refusing refusing;
  TaskWord word;
  park(word);
  const Ticket first = word.look().ticket();
  CHECK_FALSE(is_legal([](TaskWord& w) { (void)(w.deliver() == Queue::you); }, word));  // not claimed
  TaskWord reused;
  park(reused);
  CHECK(reused.wake(first, WakeReason::cancel) == Wake::parker_goes_on);
  (void)reused.stay();
  (void)reused.begin_park();
  CHECK(reused.claim(reused.look().ticket(), WakeReason::data) == Claimed::yes);  // not by the node's ticket
  CHECK_FALSE(is_legal([&](TaskWord& w) { (void)(w.deliver(first) == Queue::you); }, reused));
  CHECK(is_legal([&](TaskWord& w) { (void)(w.deliver({first.number + 1}) == Queue::you); }, reused));
}

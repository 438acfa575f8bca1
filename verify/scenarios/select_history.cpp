// SPDX-License-Identifier: MIT
// Short histories of selects over two channels, compared with two queues that do one thing at a time: a select is the
// one operation of the case that won, and nothing else.
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "mutants.hpp"
#include "scenarios/history.hpp"
#include "scenarios/select_stage.hpp"
#include "weft/detail/channel_case.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::SelectRules;
using Arms = std::vector<Arm>;

struct Call {
  Arm arm;
  int value = 0;
  bool closed = false;
  int begin = 0, over = 0;
};

struct Queues {
  struct Queue {
    std::deque<int> values;
    bool closed = false;
  };
  static constexpr std::size_t capacity = 1;
  std::array<Queue, 2> queues;
  bool explains(const Call& call) {
    Queue& queue = queues[static_cast<std::size_t>(call.arm.channel)];
    if (call.arm.sends) {
      if (call.closed || queue.closed || queue.values.size() == capacity) return call.closed && queue.closed;
      queue.values.push_back(call.value);
      return true;
    }
    if (queue.values.empty()) return call.closed && queue.closed;
    if (call.closed || call.value != queue.values.front()) return false;
    queue.values.pop_front();
    return true;
  }
};

template <class Rules>
struct Recorder {
  explicit Recorder(World& world) : stage(world, 2, Queues::capacity) {}
  void select(std::size_t me, const Arms& arms) {
    Call call;
    call.begin = ++clock;
    const std::size_t sent = stage.sent.size(), received = stage.received.size();
    const int number = stage.numbers;
    const int won = stage.select(me, arms);
    call.over = ++clock;
    check(won >= 0, "ended for nothing");
    call.arm = arms[static_cast<std::size_t>(won)];
    // What it has moved is the last that was noted: nobody runs between the noting and here.
    std::vector<int>& moved = call.arm.sends ? stage.sent : stage.received;
    call.closed = moved.size() == (call.arm.sends ? sent : received);
    if (!call.closed) call.value = moved.back();
    check(!call.arm.sends || call.closed || call.value > number, "somebody else's value");
    calls.push_back(call);
  }
  void check_all() {
    const Queues empty;
    check(linearizable(calls, empty), "no order explains the answers");
    stage.nobody_waits();
  }

  SelectStage<Rules> stage;
  std::vector<Call> calls;
  int clock = 0;
};

// As many values as there are receives; who could take either takes one.
template <class Rules>
void either(World& world) {
  auto all = std::make_shared<Recorder<Rules>>(world);
  world.thread("a", [all] {
    all->select(0, {send_on(0)});
    all->select(0, {send_on(1)});
  });
  world.thread("b", [all] {
    all->select(1, {recv_on(0), recv_on(1)});
    all->select(1, {recv_on(1), recv_on(0)});
  });
  world.thread("c", [all] { all->select(2, {send_on(1), send_on(0)}); });
  world.finally([all] { all->check_all(); });
}
// More values than fit: both wait.
template <class Rules>
void both_ways(World& world) {
  auto all = std::make_shared<Recorder<Rules>>(world);
  world.thread("a", [all] {
    for (int i = 0; i < 4; ++i) all->select(0, {send_on(0), send_on(1)});
  });
  world.thread("b", [all] {
    for (int i = 0; i < 4; ++i) all->select(1, {recv_on(1), recv_on(0)});
  });
  world.finally([all] { all->check_all(); });
}

const Register a{{.name = "select history: two that send, one that takes either [V-053]", .run = either<Real>}};
const Register b{{.name = "select history: one sends to either, one takes from either [V-054]",
                  .run = both_ways<Real>,
                  .preemptions = 3}};

const Register m1{{.name = "mutant: select history: the case that won is forgotten",
                   .run = either<mutants::select_forgets_winner::Kit::SelectRules>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: select history: who waits passes its value before an older one",
                   .run = either<mutants::select_stale_slot::Kit::SelectRules>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

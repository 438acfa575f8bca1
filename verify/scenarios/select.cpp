// SPDX-License-Identifier: MIT
// Selects that meet senders, receivers, closes and each other [SEL-1..6]; verify/models/select.pml has the same
// meetings without a bound.
#include <memory>

#include "mutants.hpp"
#include "scenarios/select_stage.hpp"
#include "weft/detail/channel_case.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::SelectRules;
using Slip = SelectSlip;
using Arms = std::vector<Arm>;

// Each party selects once. With `cancel` the first is asked to stop.
template <class Rules, Slip slip = Slip::none>
void meet(World& world, int channels, std::uint32_t capacity, std::vector<Arms> parties, bool cancel, bool all_end) {
  auto stage = std::make_shared<SelectStage<Rules, slip>>(world, channels, capacity);
  for (std::size_t i = 0; i < parties.size(); ++i)
    world.thread("party " + std::to_string(i), [stage, i, arms = parties[i], cancel] {
      const int won = stage->select(i, arms, i);
      check(won >= 0 || (cancel && i == 0), "ended for nothing");
    });
  if (cancel) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage, all_end] {
    if (all_end) stage->nobody_waits();
    stage->check_all();
  });
}

// One select, two that bring something; what only one of them can bring stays with the other.
template <class Rules, Slip slip = Slip::none>
void two_bring(World& world) {
  auto stage = std::make_shared<SelectStage<Rules, slip>>(world, 2, 1);
  world.thread("select", [stage] { check(stage->select(0, {recv_on(0), recv_on(1)}) >= 0, "nothing"); });
  world.thread("sender 0", [stage] { check(stage->select(1, {send_on(0)}) == 0, "not sent"); });
  world.thread("sender 1", [stage] { check(stage->select(2, {send_on(1)}) == 0, "not sent"); });
  world.finally([stage] {
    check(stage->received.size() == 1, "one select, one value");
    stage->nobody_waits();
    stage->check_all();
  });
}

// A plain receiver beside a select: a value each.
template <class Rules, Slip slip = Slip::none>
void beside_a_receiver(World& world) {
  auto stage = std::make_shared<SelectStage<Rules, slip>>(world, 2, 1);
  world.thread("select", [stage] { (void)stage->select(0, {recv_on(0), recv_on(1)}); });
  world.thread("receiver", [stage] { check(stage->select(1, {recv_on(1)}) == 0, "not received"); });
  world.thread("sender", [stage] {
    (void)stage->select(2, {send_on(0)});
    (void)stage->select(2, {send_on(1)});
    // Whoever took the second value, the other one needs a third only if the select took it instead of the first.
    if (stage->cores[0]->size() == 1) (void)stage->select(2, {send_on(1)});
  });
  world.finally([stage] { stage->check_all(); });
}

template <class Rules>
void ring_of_two(World& world) {  // both could serve the other, and one could serve a third
  meet<Rules>(world, 3, 0, {{send_on(0), recv_on(1)}, {recv_on(0), send_on(2)}}, false, true);
}
template <class Rules>
void with_a_third(World& world) {
  auto stage = std::make_shared<SelectStage<Rules>>(world, 3, 0);
  world.thread("a", [stage] {
    // Its partner may go to the third; then it is asked to stop by who sees that.
    (void)stage->select(0, {send_on(0), recv_on(1)});
  });
  world.thread("b", [stage] {
    if (stage->select(1, {recv_on(0), send_on(2)}) == 1)
      stage->tasks[0]->cancel();
    else
      stage->tasks[2]->cancel();
  });
  world.thread("c", [stage] { (void)stage->select(2, {recv_on(2)}); });
  world.finally([stage] {
    stage->nobody_waits();
    stage->check_all();
  });
}
template <class Rules>
void on_two_channels(World& world) {
  meet<Rules>(world, 2, 0, {{send_on(0), recv_on(1)}, {recv_on(0), send_on(1)}}, false, true);
}
template <class Rules>
void crosswise(World& world) {  // locks in case order would be each other's
  meet<Rules>(world, 2, 0, {{send_on(0), recv_on(1)}, {send_on(1), recv_on(0)}}, false, true);
}
template <class Rules>
void own_nodes(World& world) {  // both send and receive on the same one
  meet<Rules>(world, 1, 0, {{send_on(0), recv_on(0)}, {send_on(0), recv_on(0)}}, false, true);
}
template <class Rules>
void same_twice(World& world) {
  meet<Rules>(world, 1, 0, {{recv_on(0), recv_on(0)}, {send_on(0), send_on(0)}}, false, true);
}
template <class Rules>
void asked_to_stop(World& world) {
  auto stage = std::make_shared<SelectStage<Rules>>(world, 2, 1);
  world.thread("select", [stage] { (void)stage->select(0, {recv_on(0), recv_on(1)}); });
  world.thread("sender", [stage] { (void)stage->select(1, {send_on(1)}); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] {
    stage->nobody_waits();
    stage->check_all();
  });
}
// Closed and sent to at once: the losing send on the open one does not say closed.
template <class Rules>
void closed_beside(World& world) {
  auto stage = std::make_shared<SelectStage<Rules>>(world, 2, 0);
  world.thread("select", [stage] { check(stage->select(0, {send_on(0), recv_on(1)}) >= 0, "nothing"); });
  world.thread("closer", [stage] { stage->close(1); });
  world.thread("receiver", [stage] { (void)stage->select(1, {recv_on(0)}); });
  world.thread("canceller", [stage] { stage->tasks[1]->cancel(); });
  world.finally([stage] {
    stage->nobody_waits();
    stage->check_all();
  });
}
// Its frame is used again at once; the next one may be woken by nothing of the first.
template <class Rules, Slip slip = Slip::none>
void again(World& world) {
  auto stage = std::make_shared<SelectStage<Rules, slip>>(world, 2, 1);
  world.thread("select", [stage] {
    (void)stage->select(0, {recv_on(0), recv_on(1)});
    (void)stage->select(0, {recv_on(0), recv_on(1)});
  });
  world.thread("sender 0", [stage] { (void)stage->select(1, {send_on(0)}); });
  world.thread("sender 1", [stage] { (void)stage->select(2, {send_on(1)}); });
  world.finally([stage] {
    check(stage->received.size() == 2, "two selects, two values");
    stage->nobody_waits();
    stage->check_all();
  });
}

const Register a{{.name = "select: two bring something, one wins [V-053] [V-054] [B7]", .run = two_bring<Real>}};
const Register b{{.name = "select: does not take a plain receiver's wake [B8]", .run = beside_a_receiver<Real>}};
const Register c{{.name = "select: two that could serve each other [HA7]", .run = ring_of_two<Real>, .preemptions = 3}};
const Register d{{.name = "select: two and a third party [HA7]", .run = with_a_third<Real>}};
const Register e{
    {.name = "select: two meet on two channels at once [HA7]", .run = on_two_channels<Real>, .preemptions = 3}};
const Register f{{.name = "select: two meet crosswise", .run = crosswise<Real>, .preemptions = 3}};
const Register g{{.name = "select: sends and receives on one channel [B9]", .run = own_nodes<Real>, .preemptions = 3}};
const Register h{{.name = "select: the same channel twice [B9]", .run = same_twice<Real>, .preemptions = 3}};
const Register i{
    {.name = "select: asked to stop, it has a value or leaves it [N-022] [B14]", .run = asked_to_stop<Real>}};
const Register j{{.name = "select: a close beside a send [B11]", .run = closed_beside<Real>}};
const Register k{{.name = "select: again on the same frame [B7]", .run = again<Real>}};
const Register l{
    {.name = "select: two bring something, store buffers", .run = two_bring<Real>, .delays = 1, .asymmetric = true}};

template <class Kit>
using Rules = typename Kit::SelectRules;
const Register m1{{.name = "mutant: select only links, without a second look",
                   .run = ring_of_two<Rules<mutants::select_only_links::Kit>>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: select looks and links in two steps",
                   .run = on_two_channels<Rules<mutants::select_links_apart::Kit>>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: select locks in case order",
                   .run = crosswise<Rules<mutants::select_case_order::Kit>>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: select locks an object twice",
                   .run = own_nodes<Rules<mutants::select_locks_twice::Kit>>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: select caller leaves its losers linked",
                   .run = again<Real, Slip::leaves_losers>,
                   .fails = Verdict::assertion}};
const Register m7{{.name = "mutant: select forgets who has won",
                   .run = two_bring<Rules<mutants::select_forgets_winner::Kit>>,
                   .fails = Verdict::assertion}};
const Register m8{{.name = "mutant: select leaves its last loser linked",
                   .run = again<Rules<mutants::select_unlinks_all_but_last::Kit>>,
                   .fails = Verdict::crash}};

}  // namespace
}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
// Closing a channel, by either end, against everybody who uses it [CHAN-1..6]; verify/models/close.pml has the same
// mistakes without a bound.
#include <memory>

#include "mutants.hpp"
#include "scenarios/channel_stage.hpp"
#include "weft/detail/channel_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::ChannelRules;
using Slip = ChannelSlip;

template <class Rules, Slip slip = Slip::none>
auto stage_of(World& world, std::uint32_t capacity) {
  return std::make_shared<ChannelStage<Rules, slip>>(world, capacity);
}

// A send is done and its value comes out, or fails and keeps it.
template <class Rules, std::uint32_t capacity>
void against_a_send(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("sender", [stage] { (void)stage->send(0, 1); });
  world.thread("receiver", [stage] { stage->recv_all(1); });
  world.thread("closer", [stage] { (void)stage->close(1); });
  world.finally([stage] { stage->check_values(true); });
}

// The sender may stand; with memory for the drain list or without.
template <class Rules, std::uint32_t capacity, bool memory>
void against_two_senders(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { (void)stage->send(1, 2); });
  world.thread("closer and receiver", [stage] {
    (void)stage->close(1, memory);
    stage->recv_all(2);
  });
  world.finally([stage] { stage->check_values(true); });
}

// All that were parked before the close come out in their order: buffer, drain list.
template <class Rules, bool memory>
void drains_in_order(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  (void)stage->try_send(1);
  auto& parked = world.make<seam::Atomic<int>>("parked", 0);
  world.thread("sender", [stage, &parked] {
    parked.store(1, std::memory_order_release);
    (void)stage->send(0, 2);
  });
  world.thread("closer", [stage] { (void)stage->close(1, memory); });
  world.thread("receiver", [stage] { stage->recv_all(1); });
  world.finally([stage] {
    stage->check_values(true);
    for (std::size_t i = 1; i < stage->received.size(); ++i)
      check(stage->received[i - 1] < stage->received[i], "out of order");
  });
}

template <class Rules>
void closed_twice(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("receiver", [stage] { stage->recv_all(0); });
  world.thread("closer 1", [stage] { (void)stage->close(1); });
  world.thread("closer 2", [stage] { (void)stage->close(2); });
  world.finally([stage] {
    check(stage->closers.size() == 1, "closed by both, or by nobody");
    check(stage->core.reason() == std::to_string(stage->closers[0]), "another reason than the first");
  });
}

template <class Rules>
void two_receivers(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("receiver 1", [stage] { check(stage->recv(0) == End::closed, "not told"); });
  world.thread("receiver 2", [stage] { check(stage->recv(1) == End::closed, "not told"); });
  world.thread("closer", [stage] { (void)stage->close(1); });
}

// A value, the close and a request to stop meet one receiver.
template <class Rules>
void receiver_stopped(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("receiver", [stage] { (void)stage->recv(0); });
  world.thread("sender and closer", [stage] {
    (void)stage->try_send(1);
    (void)stage->close(1);
  });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] { stage->check_values(); });
}

template <class Rules, bool memory>
void sender_stopped(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("sender", [stage] { (void)stage->send(0, 1); });
  world.thread("closer", [stage] {
    (void)stage->close(1, memory);
    stage->recv_all(1);
  });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] { stage->check_values(); });
}

// The receivers' end: sends fail and keep their values, what was admitted goes back to the closer.
template <class Rules, std::uint32_t capacity>
void refused(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { (void)stage->send(1, 2); });
  world.thread("closer", [stage] { (void)stage->close_recv(1); });
  world.finally([stage] { stage->check_values(); });
}

template <class Rules>
void both_ends(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("sender", [stage] { (void)stage->send(0, 1); });
  world.thread("senders' closer", [stage] { (void)stage->close(1); });
  world.thread("receivers' closer", [stage] { (void)stage->close_recv(2); });
  world.finally([stage] {
    stage->check_values();
    const int first = stage->closers.empty() ? 2 : 1;
    check(stage->core.reason() == std::to_string(first), "the first reason does not stay");
  });
}

const Register a{{.name = "close: against a send and a receiver, no buffer [W-050] [W-051] [W-053] [B10]",
                  .run = against_a_send<Real, 0>}};
const Register b{{.name = "close: against a send and a receiver, a buffer of one [W-050] [W-052] [B10]",
                  .run = against_a_send<Real, 1>}};
const Register c{{.name = "close: against two senders that may stand [W-055] [W-060] [B10]",
                  .run = against_two_senders<Real, 0, true>}};
const Register d{
    {.name = "close: against two senders, without memory [HB9]", .run = against_two_senders<Real, 0, false>}};
const Register e{{.name = "close: against two senders and a buffer of one, without memory [HB9]",
                  .run = against_two_senders<Real, 1, false>}};
const Register f{{.name = "close: buffer and drain list come out in order", .run = drains_in_order<Real, true>}};
const Register g{{.name = "close: buffer and parked senders come out in order", .run = drains_in_order<Real, false>}};
const Register h{{.name = "close: two closers, one of them closes [W-059] [W-067]", .run = closed_twice<Real>}};
const Register i{{.name = "close: two receivers are told once each [W-063] [W-068] [B12]", .run = two_receivers<Real>}};
const Register j{
    {.name = "close: a receiver that is asked to stop at the same time [N-022] [B14]", .run = receiver_stopped<Real>}};
const Register k{{.name = "close: a sender that is asked to stop at the same time [N-022] [B14]",
                  .run = sender_stopped<Real, true>}};
const Register l{{.name = "close: a sender that is asked to stop, without memory [N-022] [HB9]",
                  .run = sender_stopped<Real, false>}};
const Register m{{.name = "close: the receivers' end against two senders [N-034]", .run = refused<Real, 0>}};
const Register n{
    {.name = "close: the receivers' end against two senders and a buffer [N-034]", .run = refused<Real, 1>}};
const Register o{{.name = "close: both ends at once [N-034] [N-031]", .run = both_ends<Real>}};
const Register p{{.name = "close: against a send and a receiver, store buffers [W-117]",
                  .run = against_a_send<Real, 0>,
                  .delays = 1,
                  .asymmetric = true}};

const Register m1{{.name = "mutant: close sets its flag before the lock [W-117]",
                   .run = against_a_send<mutants::close_flag_unlocked::Kit::ChannelRules, 1>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: close moves values without a claim",
                   .run = sender_stopped<mutants::close_moves_unclaimed::Kit::ChannelRules, true>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: close is looked at before the buffer",
                   .run = against_a_send<mutants::close_before_buffer::Kit::ChannelRules, 1>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: close drains before the buffer",
                   .run = drains_in_order<mutants::close_drain_first::Kit::ChannelRules, true>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: close tells drained senders `closed`",
                   .run = against_two_senders<mutants::close_fails_drained::Kit::ChannelRules, 0, true>,
                   .fails = Verdict::assertion}};
const Register m6{{.name = "mutant: close forgets parked senders without memory",
                   .run = against_two_senders<mutants::close_forgets_parked::Kit::ChannelRules, 0, false>,
                   .fails = Verdict::deadlock}};
const Register m7{{.name = "mutant: close is not idempotent",
                   .run = closed_twice<mutants::close_twice::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m8{{.name = "mutant: close lets receivers park",
                   .run = two_receivers<mutants::close_lets_park::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m9{{.name = "mutant: close of the receivers' end forgets parked senders",
                   .run = refused<mutants::close_recv_forgets_senders::Kit::ChannelRules, 0>,
                   .fails = Verdict::deadlock}};
const Register m10{{.name = "mutant: close of the receivers' end overwrites the reason",
                    .run = both_ends<mutants::close_recv_reason::Kit::ChannelRules>,
                    .fails = Verdict::assertion}};
const Register m11{{.name = "mutant: close forgets the drain list's memory is too small",
                    .run = against_two_senders<mutants::close_small_room::Kit::ChannelRules, 0, true>,
                    .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

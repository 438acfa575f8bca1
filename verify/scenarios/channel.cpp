// SPDX-License-Identifier: MIT
// Senders and receivers of one open channel [CHAN-1] [CHAN-2] [CHAN-5].
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

template <class Rules, std::uint32_t capacity, Slip slip = Slip::none>
void one_each(World& world) {
  auto stage = stage_of<Rules, slip>(world, capacity);
  world.thread("sender", [stage] { check(stage->send(0, 1) == End::sent, "not sent"); });
  world.thread("receiver", [stage] { check(stage->recv(1) == End::received, "not received"); });
  world.finally([stage] { stage->check_values(); });
}

// Whatever the order of two senders, their values come out in the order of admission.
template <class Rules, std::uint32_t capacity>
void two_senders(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { (void)stage->send(1, 2); });
  world.thread("receiver", [stage] {
    (void)stage->recv(2);
    (void)stage->recv(2);
  });
  world.finally([stage] { stage->check_values(); });
}

template <class Rules, std::uint32_t capacity>
void two_receivers(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("receiver 1", [stage] { (void)stage->recv(0); });
  world.thread("receiver 2", [stage] { (void)stage->recv(1); });
  world.thread("sender", [stage] {
    (void)stage->send(2, 1);
    (void)stage->send(2, 2);
  });
  world.finally([stage] { stage->check_values(); });
}

// One sender: what comes out keeps its order.
template <class Rules, std::uint32_t capacity>
void in_order(World& world) {
  auto stage = stage_of<Rules>(world, capacity);
  world.thread("sender", [stage] {
    for (int i = 1; i <= 3; ++i) (void)stage->send(0, i);
  });
  world.thread("receiver", [stage] {
    for (int i = 1; i <= 3; ++i) {
      (void)stage->recv(1);
      check(stage->received.back() == i, "out of order");
    }
  });
}

// Asked to stop, a receiver has a value or leaves it where it was.
template <class Rules, Slip slip = Slip::none>
void receiver_stopped(World& world) {
  auto stage = stage_of<Rules, slip>(world, 1);
  world.thread("receiver", [stage] { (void)stage->recv(0); });
  world.thread("sender", [stage] { (void)stage->try_send(1); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] { stage->check_values(); });
}

template <class Rules>
void sender_stopped(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("sender", [stage] { (void)stage->send(0, 1); });
  world.thread("receiver", [stage] { (void)stage->try_recv(); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] { stage->check_values(); });
}

// The buffer is full, two senders stand, the first is asked to stop: who takes one value makes room for one of them.
template <class Rules>
void stopped_beside_another(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  (void)stage->try_send(3);
  world.thread("sender 1", [stage] {
    if (stage->send(0, 1) == End::sent) (void)stage->try_recv();
  });
  world.thread("sender 2", [stage] { check(stage->send(1, 2) == End::sent, "not sent"); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.thread("receiver", [stage] { (void)stage->try_recv(); });
  world.finally([stage] { stage->check_values(); });
}

// The wait of a stopped receiver is over before its node is out: a sender goes on to the next receiver.
template <class Rules, Slip slip = Slip::none>
void stopped_receiver_beside_another(World& world) {
  auto stage = stage_of<Rules, slip>(world, 0);
  world.thread("receiver 1", [stage] { (void)stage->recv(0); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.thread("receiver 2", [stage] { (void)stage->recv(1); });
  world.thread("sender", [stage] {
    (void)stage->send(2, 1);
    if (stage->tasks[1]->stop.load(std::memory_order_relaxed) == 0) (void)stage->try_send(2);
    stage->tasks[1]->cancel();
  });
  world.finally([stage] { stage->check_values(); });
}

template <class Rules>
void batch_sent(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("receiver 1", [stage] { check(stage->recv(0) == End::received, "not received"); });
  world.thread("receiver 2", [stage] { check(stage->recv(1) == End::received, "not received"); });
  world.thread("batch", [stage] {
    if (stage->send_many({1, 2, 3}) == 1) (void)stage->send(2, 4);
  });
  world.finally([stage] { stage->check_values(); });
}

// The buffer is full: who takes it lets a sender go on.
template <class Rules>
void batch_taken(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  (void)stage->try_send(3);
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { (void)stage->send(1, 2); });
  world.thread("batch", [stage] {
    (void)stage->recv_many(1);
    (void)stage->recv(2);
  });
  world.finally([stage] {
    check(stage->received.front() == 3, "out of order");
    stage->check_values();
  });
}

const Register a{{.name = "channel: a sender meets a receiver, no buffer [W-049] [W-051] [W-057] [HA2.1]",
                  .run = one_each<Real, 0>,
                  .preemptions = 4}};
const Register b{{.name = "channel: a sender meets a receiver, store buffers [B1]",
                  .run = one_each<Real, 0>,
                  .delays = 1,
                  .asymmetric = true}};
const Register c{{.name = "channel: a sender meets a receiver, a buffer of one [W-052] [W-056]",
                  .run = one_each<Real, 1>,
                  .preemptions = 4}};
const Register d{{.name = "channel: two senders, one receiver, no buffer", .run = two_senders<Real, 0>}};
const Register e{{.name = "channel: two senders, one receiver, a buffer of one", .run = two_senders<Real, 1>}};
const Register f{{.name = "channel: two receivers, one sender, no buffer", .run = two_receivers<Real, 0>}};
const Register g{{.name = "channel: two receivers, one sender, a buffer of one", .run = two_receivers<Real, 1>}};
const Register h{
    {.name = "channel: one sender's values keep their order, no buffer", .run = in_order<Real, 0>, .preemptions = 3}};
const Register i{{.name = "channel: one sender's values keep their order, a buffer of two",
                  .run = in_order<Real, 2>,
                  .preemptions = 3}};
const Register j{{.name = "channel: a receiver that is asked to stop has the value or leaves it [N-022] [B14]",
                  .run = receiver_stopped<Real>,
                  .preemptions = 3}};
const Register k{
    {.name = "channel: a sender that is asked to stop keeps the value or has sent it [N-022] [V-061] [B14]",
     .run = sender_stopped<Real>,
     .preemptions = 3}};
const Register l{{.name = "channel: a stopped sender does not stand in the way of the next [B13]",
                  .run = stopped_beside_another<Real>}};
const Register m{{.name = "channel: a stopped receiver does not stand in the way of the next [B13]",
                  .run = stopped_receiver_beside_another<Real>}};
const Register n{{.name = "channel: a batch is sent beside two receivers [N-035]", .run = batch_sent<Real>}};
const Register o{{.name = "channel: batches are taken beside two senders [N-035]", .run = batch_taken<Real>}};

const Register m1{{.name = "mutant: channel puts into the buffer though a receiver waits",
                   .run = one_each<mutants::chan_buffer_first::Kit::ChannelRules, 1>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: channel refills from the first sender only",
                   .run = stopped_beside_another<mutants::chan_refills_from_first::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: channel looks and links in two steps",
                   .run = one_each<mutants::chan_links_apart::Kit::ChannelRules, 0>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: wait list gives up after a lost claim",
                   .run = stopped_beside_another<mutants::list_lost_claim_ends::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: wait list hands over without a claim",
                   .run = receiver_stopped<mutants::list_takes_unclaimed::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m6{{.name = "mutant: channel takes without refilling",
                   .run = stopped_beside_another<mutants::chan_no_refill::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m7{{.name = "mutant: channel batch does not look for parked senders",
                   .run = batch_taken<mutants::chan_batch_no_refill::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m8{{.name = "mutant: channel caller leaves its node behind",
                   .run = stopped_receiver_beside_another<Real, Slip::leaves_its_node>,
                   .fails = Verdict::crash}};
const Register m9{{.name = "mutant: channel caller forgets whom it claimed",
                   .run = one_each<Real, 0, Slip::forgets_the_woken>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify

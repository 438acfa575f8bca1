// SPDX-License-Identifier: MIT
// Channels that drop, waits that run out of time, the receivers' end against requests to stop; and what is made of
// channels: tasks in order, a pool. The last two repeat the few lines of weft/ordered_channel.hpp and weft/pool.hpp on
// the real channel and select.
#include <algorithm>
#include <functional>
#include <memory>

#include "mutants.hpp"
#include "scenarios/channel_stage.hpp"
#include "scenarios/select_stage.hpp"
#include "weft/detail/channel_case.hpp"
#include "weft/detail/channel_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::ChannelRules;
using RealSelect = detail::SelectRules;

template <class Rules>
auto stage_of(World& world, std::uint32_t capacity) {
  return std::make_shared<ChannelStage<Rules>>(world, capacity);
}

// Nobody who sends waits; a receiver gets what was not dropped, then the close.
template <class Rules>
void drops_new(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("sender 1", [stage] { (void)stage->try_send(1); });
  world.thread("sender 2", [stage] {
    (void)stage->try_send(2);
    (void)stage->close(1);
    check(stage->try_send(3) == End::closed, "sent after the close");
  });
  world.thread("receiver", [stage] { stage->recv_all(0); });
  world.finally([stage] {
    check(!stage->received.empty() && stage->received.size() == stage->sent.size(), "not all that was sent came out");
    stage->check_values(true);
  });
}
// What one sender has sent comes out in order, and the newest is never the one that goes.
template <class Rules>
void drops_old(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("sender 1", [stage] {
    check(stage->send_over_oldest(1) == End::sent, "it never waits");
    check(stage->send_over_oldest(2) == End::sent, "it never waits");
  });
  world.thread("sender 2", [stage] { check(stage->send_over_oldest(3) == End::sent, "it never waits"); });
  world.thread("receiver", [stage] { check(stage->recv(0) == End::received, "not received"); });
  world.finally([stage] { stage->check_values(); });
}
template <class Rules>
void drops_old_meets(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("sender", [stage] { check(stage->send_over_oldest(1) == End::sent, "it never waits"); });
  world.thread("receiver", [stage] { check(stage->recv(0) == End::received, "not received"); });
  world.finally([stage] { stage->check_values(); });
}
template <class Rules>
void drops_old_closed(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  world.thread("sender", [stage] {
    for (int i = 1; i <= 2; ++i) (void)stage->send_over_oldest(i);
  });
  world.thread("closer", [stage] { (void)stage->close(1); });
  world.thread("receiver", [stage] { stage->recv_all(0); });
  world.finally([stage] {  // a sender says what it has sent after it was received
    const auto& got = stage->received;
    check(std::adjacent_find(got.begin(), got.end(), std::greater_equal<>()) == got.end(), "out of order");
    check(stage->sent.empty() || (!got.empty() && got.back() == stage->sent.back()), "the newest was dropped");
    stage->check_values(true);
  });
}

template <class Rules>
void receiver_timed(World& world) {
  auto stage = stage_of<Rules>(world, 1);
  stage->tasks[0]->deadline = some_time;
  world.thread("receiver", [stage] { (void)stage->recv(0); });
  world.thread("sender", [stage] { (void)stage->try_send(1); });
  world.finally([stage] { stage->check_values(); });
}
// The sender's time is up while one takes, another stands behind, and the channel closes.
template <class Rules>
void sender_timed(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  stage->tasks[0]->deadline = some_time;
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { (void)stage->send(1, 2); });
  world.thread("receiver", [stage] {
    check(stage->recv(2) == End::received, "not received");
    (void)stage->close(1);
    stage->recv_all(2);
  });
  world.finally([stage] { stage->check_values(); });
}
// The receivers' end closes while one of two senders is asked to stop.
template <class Rules>
void refused_stopped(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  world.thread("sender 1", [stage] { (void)stage->send(0, 1); });
  world.thread("sender 2", [stage] { check(stage->send(1, 2) == End::closed, "nobody receives"); });
  world.thread("closer", [stage] { (void)stage->close_recv(1); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] { stage->check_values(true); });
}
template <class Rules>
void refused_timed(World& world) {
  auto stage = stage_of<Rules>(world, 0);
  stage->tasks[1]->deadline = some_time;
  world.thread("sender", [stage] { (void)stage->send(0, 1); });
  world.thread("receiver", [stage] { (void)stage->recv(1); });
  world.thread("closer", [stage] { (void)stage->close_recv(1); });
  world.finally([stage] { stage->check_values(true); });
}
template <class Rules>
void select_timed(World& world) {
  auto stage = std::make_shared<SelectStage<Rules>>(world, 2, 0);
  stage->tasks[0]->deadline = some_time;
  stage->tasks[1]->deadline = some_time;
  world.thread("select", [stage] { (void)stage->select(0, {recv_on(0), recv_on(1)}); });
  world.thread("sender 0", [stage] { (void)stage->select(1, {send_on(0)}); });
  world.thread("closer", [stage] { stage->close(1); });
  world.finally([stage] {
    stage->nobody_waits();
    stage->check_all();
  });
}

// A task for each number, which ends when it likes; its handle is sent, or waited for by who could not send it.
template <class Rules>
void ordered(World& world) {
  struct Ends {
    std::array<seam::Atomic<std::uint32_t>, 3> ended{};
    std::array<Plain<int>, 3> results;
    std::array<int, 3> waited{};
    void end(int task) {
      const auto i = static_cast<std::size_t>(task);
      results[i].write(task);
      ended[i].store(1, std::memory_order_release);
      seam::futex_wake(ended[i], 1);
    }
    void wait(int task) {
      const auto i = static_cast<std::size_t>(task);
      while (ended[i].load(std::memory_order_acquire) == 0) seam::futex_wait(ended[i], 0, seam::no_deadline);
      check(results[i].read() == task, "not its result");
      ++waited[i];
    }
  };
  auto stage = stage_of<Rules>(world, 1);
  auto& ends = world.make<Ends>("ends");
  world.thread("spawner", [stage, &ends] {
    for (int task = 1; task <= 2; ++task)
      if (stage->send(0, task) != End::sent) ends.wait(task);
    (void)stage->close(1);
  });
  world.thread("tasks", [&ends] { ends.end(2), ends.end(1); });
  world.thread("receiver", [stage, &ends] {
    while (stage->recv(1) == End::received) ends.wait(stage->received.back());
  });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage, &ends] {
    for (std::size_t i = 1; i <= 2; ++i) check(ends.waited[i] == 1, "a task's end was seen by nobody, or twice");
    check(stage->received.size() < 2 || stage->received.front() == 1, "out of order");
  });
}

// One of a kind: channel 0 holds what is idle, channel 1 a place for what does not exist yet.
template <class Rules, SelectSlip slip = SelectSlip::none>
void pooled(World& world) {
  auto stage = std::make_shared<SelectStage<Rules, slip>>(world, 2, 1);
  auto& inside = world.make<Plain<int>>("inside", 0);
  check(stage->select(3, {send_on(1)}) == 0, "there is room");
  stage->tasks[2]->deadline = some_time;
  for (std::size_t i = 0; i < 3; ++i)
    world.thread("taker", [stage, i, &inside] {
      if (stage->select(i, {recv_on(0), recv_on(1)}) < 0) {
        check(i == 2, "nobody else has a deadline");
        return;
      }
      inside.write(inside.read() + 1);  // a race unless it is the only one
      check(stage->select(i, {send_on(i == 0 ? 1 : 0)}) == 0, "there is room for all that exist");
    });
  world.finally([stage] {
    stage->nobody_waits();
    check(stage->cores[0]->size() + stage->cores[1]->size() == 1, "one was lost or made");
  });
}

const Register a{{.name = "channel: drops what is new, two senders and a close", .run = drops_new<Real>}};
const Register b{{.name = "channel: drops what is old, two senders and a receiver", .run = drops_old<Real>}};
const Register j{
    {.name = "channel: drops what is old, a sender meets a receiver", .run = drops_old_meets<Real>, .preemptions = 3}};
const Register c{{.name = "channel: drops what is old, and closes [B10]", .run = drops_old_closed<Real>}};
const Register d{{.name = "channel: a receiver whose time is up has the value or leaves it [N-022] [B16]",
                  .run = receiver_timed<Real>,
                  .preemptions = 3}};
const Register e{
    {.name = "channel: a sender whose time is up, another and a close [N-022] [B16] [B10]", .run = sender_timed<Real>}};
const Register f{{.name = "channel: the receivers' end against two senders, one asked to stop [N-034] [B14]",
                  .run = refused_stopped<Real>}};
const Register k{{.name = "channel: the receivers' end against a sender and a receiver whose time is up [N-034] [B16]",
                  .run = refused_timed<Real>}};
const Register g{
    {.name = "select: its time is up beside a sender and a close [N-022] [B16]", .run = select_timed<RealSelect>}};
const Register h{{.name = "channel: tasks in order, and the spawner is asked to stop", .run = ordered<Real>}};
const Register i{
    {.name = "select: a pool of one, three takers, the time of one is up [B13] [B16]", .run = pooled<RealSelect>}};

const Register m1{{.name = "mutant: channel that drops the old passes a receiver by",
                   .run = drops_old_meets<mutants::chan_drops_past_receiver::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: channel that drops the old drops the new",
                   .run = drops_old_closed<mutants::chan_drops_newest::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: wait list hands over to who is out of time",
                   .run = receiver_timed<mutants::list_takes_unclaimed::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: select caller leaves its losers in a pool's lists",
                   .run = pooled<RealSelect, SelectSlip::leaves_losers>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: channel's receivers' end forgets senders beside a request to stop",
                   .run = refused_stopped<mutants::close_recv_forgets_senders::Kit::ChannelRules>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
#pragma once
// What: a channel and a few tasks for scenarios: each operation as wait_on() performs it, and what must hold at the end
// whatever happened: every value is received once, given back once, left in the channel, or still its sender's.
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/wait_task.hpp"

namespace weft::inline v0::verify {

enum class End { sent, received, closed, cancelled, nothing };

// What callers can do wrong.
enum class ChannelSlip { none, leaves_its_node, forgets_the_woken };

template <class Rules, ChannelSlip slip = ChannelSlip::none>
struct ChannelStage {
  using Task = WaitTask<Rules>;
  using Core = typename Rules::template Core<Item, Task>;
  using Node = typename Rules::template Node<Task>;
  using Claimed = typename Rules::template Claims<Task>;
  using Offer = typename Rules::Offer;
  using Take = typename Rules::Take;
  using Reason = typename Rules::Reason;

  ChannelStage(World& world, std::uint32_t capacity) : core(world.make<Core>("channel", capacity)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }

  static void deliver(Task* woken) {
    if (woken != nullptr && slip != ChannelSlip::forgets_the_woken) woken->deliver();
  }
  static void deliver_all(Claimed& claimed) {
    claimed.deliver([](Task* task) { task->deliver(); });
  }

  // By task `me`. One that was asked to stop gives up.
  End send(std::size_t me, int number) {
    Task& self = *tasks[me];
    Item item(number);
    Task* woken = nullptr;
    Node& node = frames.emplace_back();
    Node* winner = nullptr;
    node.winner = &winner;
    const Offer offered = core.send_or_park(item, self, node, woken);
    deliver(woken);
    End end = offered == Offer::sent ? End::sent : End::closed;
    if (offered == Offer::full) {
      const Reason reason = self.park();
      if (winner == nullptr && slip != ChannelSlip::leaves_its_node) core.withdraw_sender(node);
      end = reason == Reason::data ? End::sent : reason == Reason::closed ? End::closed : End::cancelled;
      check((reason == Reason::closed) == (winner != nullptr && node.slot == nullptr), "closed, and not told so");
    }
    check((item.number == 0) == (end == End::sent), end == End::sent ? "sent, and still here" : "not sent, and gone");
    if (end == End::sent) sent.push_back(number);
    node.task = nullptr;  // the frame is somebody else's now
    return end;
  }

  End recv(std::size_t me) {
    Task& self = *tasks[me];
    std::optional<Item> into;
    Task* woken = nullptr;
    Node& node = frames.emplace_back();
    Node* winner = nullptr;
    node.winner = &winner;
    const Take taken = core.recv_or_park(into, self, node, woken);
    deliver(woken);
    End end = taken == Take::value ? End::received : End::closed;
    if (taken == Take::empty) {
      const Reason reason = self.park();
      if (winner == nullptr && slip != ChannelSlip::leaves_its_node) core.withdraw_receiver(node);
      end = reason == Reason::data ? End::received : reason == Reason::closed ? End::closed : End::cancelled;
    }
    check(into.has_value() == (end == End::received), "received, or not?");
    if (into) received.push_back(into->number);
    node.task = nullptr;
    return end;
  }
  void recv_all(std::size_t me) {
    while (recv(me) == End::received) {
    }
  }
  End try_recv() {
    std::optional<Item> into;
    Task* woken = nullptr;
    const Take taken = core.try_recv(into, woken);
    deliver(woken);
    if (into) received.push_back(into->number);
    return taken == Take::value ? End::received : taken == Take::closed ? End::closed : End::nothing;
  }
  End try_send(int number) {
    Item item(number);
    Task* woken = nullptr;
    const Offer offered = core.try_send(item, woken);
    deliver(woken);
    check((item.number == 0) == (offered == Offer::sent), "sent, or not?");
    if (offered == Offer::sent) sent.push_back(number);
    return offered == Offer::sent ? End::sent : offered == Offer::closed ? End::closed : End::nothing;
  }
  // In a channel that drops: the oldest makes room.
  End send_over_oldest(int number) {
    Item item(number);
    std::optional<Item> old;
    Task* woken = nullptr;
    const Offer offered = core.send_over_oldest(item, old, woken);
    deliver(woken);
    check((item.number == 0) == (offered == Offer::sent), "sent, or not?");
    if (offered == Offer::sent) sent.push_back(number);
    if (old) given_back.push_back(old->number);
    return offered == Offer::sent ? End::sent : offered == Offer::closed ? End::closed : End::nothing;
  }
  std::size_t send_many(std::vector<int> numbers) {
    std::vector<Item> items;
    for (const int number : numbers) items.emplace_back(number);
    Claimed woken;
    bool closed = false;
    const std::size_t count = core.offer_many(items.data(), items.size(), closed, woken);
    deliver_all(woken);
    for (std::size_t i = 0; i < count; ++i) sent.push_back(numbers[i]);
    return count;
  }
  std::size_t recv_many(std::size_t most) {
    Claimed woken;
    bool closed = false;
    const std::size_t count =
        core.take_many(most, [&](Item&& item) { received.push_back(Item(std::move(item)).number); }, closed, woken);
    deliver_all(woken);
    return count;
  }

  bool close(int who, bool memory = true) {
    std::string why = std::to_string(who);
    Claimed woken;
    const bool mine = core.close(
        why, [&](std::size_t count) { return memory ? std::allocator<Item>().allocate(count) : nullptr; }, woken);
    deliver_all(woken);
    if (mine) closers.push_back(who);
    return mine;
  }
  bool close_recv(int who) {
    std::string why = std::to_string(who);
    Claimed woken;
    const bool mine = core.close_recv(
        why, [](std::size_t) {}, [&](Item&& item) { given_back.push_back(Item(std::move(item)).number); }, woken);
    deliver_all(woken);
    if (mine) refusers.push_back(who);
    return mine;
  }

  // Every value that was sent came out once; what is still inside counts as come out, unless receivers were told that
  // nothing more comes.
  void check_values(bool drained = false) {
    while (try_recv() == End::received) check(!drained, "admitted after its receivers have left");
    std::vector<int> out = received;
    out.insert(out.end(), given_back.begin(), given_back.end());
    check(out.size() == sent.size(), "a value was lost or invented");
    for (const int number : sent) check(std::erase(out, number) == 1, "a value came out twice or not at all");
  }

  std::deque<Node> frames;  // kept, so that a node which is looked at too late is seen as such
  Core& core;
  std::array<Task*, 3> tasks{};
  std::vector<int> sent, received, given_back, closers, refusers;  // one OS thread runs them all
};

}  // namespace weft::inline v0::verify

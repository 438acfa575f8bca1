// SPDX-License-Identifier: MIT
#pragma once
// What: channels and tasks that select over them, for scenarios. Values are numbers of their senders' own; at the end
// every value is received once or still its sender's, no list holds a node, and nobody sleeps beside a partner.
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "scenarios/wait_task.hpp"

namespace weft::inline v0::verify {

enum class SelectSlip { none, leaves_losers };

struct Arm {
  bool sends = false;
  int channel = 0;
};
inline Arm send_on(int channel) {
  return {true, channel};
}
inline Arm recv_on(int channel) {
  return {false, channel};
}

template <class Rules, SelectSlip slip = SelectSlip::none>
struct SelectStage {
  using Task = WaitTask<Rules>;
  using Core = typename Rules::template Core<Item, Task>;
  using Recv = typename Rules::template Recv<Item, Task>;
  using Send = typename Rules::template Send<Item, Task>;
  using Case = typename Rules::template Case<Task>;
  using Select = typename Rules::template Select<Task>;
  using Claimed = typename Rules::template Claims<Task>;
  using Offer = typename Rules::Offer;
  using Reason = typename Rules::Reason;

  // What lies on the stack of one select; kept, so that a node which is looked at too late is seen as such.
  struct Frame {
    std::deque<Item> items;
    std::vector<int> numbers;
    std::deque<Send> sends;
    std::deque<Recv> recvs;
  };

  struct Row {
    explicit Row(std::uint32_t capacity) : cores{Core(capacity), Core(capacity), Core(capacity)} {}
    Core cores[3];
  };

  SelectStage(World& world, int channels, std::uint32_t capacity) {
    // Side by side: their address order, in which they are locked, is the same in every run.
    Row& row = world.make<Row>("channels", capacity);
    for (int i = 0; i < channels; ++i) {
      cores.push_back(&row.cores[i]);
      world.name(row.cores[i], "channel " + std::to_string(i));
    }
    for (auto& task : tasks) task = &world.make<Task>("task");
  }

  // One select by task `me`; returns the arm that won, or -1 if it was asked to stop. Closed counts as won.
  int select(std::size_t me, std::vector<Arm> arms, std::size_t first = 0) {
    Task& self = *tasks[me];
    Frame& frame = frames.emplace_back();
    std::vector<Case*> cases;
    for (std::size_t i = 0; i < arms.size(); ++i) {
      Core& core = *cores[static_cast<std::size_t>(arms[i].channel)];
      if (arms[i].sends) {
        Item& item = frame.items.emplace_back(++numbers);
        frame.numbers.push_back(item.number);
        cases.push_back(&frame.sends.emplace_back(core, item));
      } else {
        cases.push_back(&frame.recvs.emplace_back(core));
      }
    }
    std::vector<seam::SpinLock*> locks(arms.size());
    Select select(cases.data(), locks.data(), arms.size());
    Task* woken = nullptr;
    bool stopped = false;
    if (select.look_one_by_one([&](std::size_t count) { return first % count; }, woken) ||
        select.look_or_park(self, first, woken)) {
      if (woken != nullptr) woken->deliver();
    } else {
      const Reason reason = self.park();
      if (slip != SelectSlip::leaves_losers) select.unlink_losers();
      stopped = reason != Reason::data && reason != Reason::closed;
      check(stopped == (select.won() == Select::nobody), "won without a claim, or claimed and not won");
    }
    const int won = stopped ? -1 : static_cast<int>(select.won());
    settle(arms, frame, won);
    for (Case* one : cases) one->node.task = nullptr;  // the frame is somebody else's now
    return won;
  }

  // What each arm has done: the winner everything, the others nothing.
  void settle(const std::vector<Arm>& arms, Frame& frame, int won) {
    std::size_t sends = 0, recvs = 0;
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const bool mine = won == static_cast<int>(i);
      if (arms[i].sends) {
        const bool gone = frame.items[sends].number == 0;
        const bool closed = frame.sends[sends].offered == Offer::closed;
        ++sends;
        check(gone == (mine && !closed), gone ? "a case that lost has sent" : "a case that won has not sent");
        check(mine || !closed, "a case that lost says closed");
        if (gone) sent.push_back(frame.numbers[sends - 1]);
      } else {
        const std::optional<Item>& value = frame.recvs[recvs++].value;
        check(mine || !value.has_value(), "a case that lost has received");
        if (value) received.push_back(value->number);
      }
    }
  }

  void close(std::size_t channel) {
    std::string why;
    Claimed woken;
    (void)cores[channel]->close(why, [](std::size_t count) { return std::allocator<Item>().allocate(count); }, woken);
    woken.deliver([](Task* task) { task->deliver(); });
  }
  void check_all() {
    std::vector<int> out = received;
    for (Core* core : cores) {
      std::optional<Item> left;
      Task* woken = nullptr;
      const auto waiting = core->waiting();
      check(waiting.senders == 0 || waiting.receivers == 0, "two sleep beside each other");
      for (;;) {
        left.reset();
        if (core->try_recv(left, woken) != Rules::Take::value) break;
        out.push_back(left->number);
      }
    }
    check(out.size() == sent.size(), "a value was lost or invented");
    for (const int number : sent) check(std::erase(out, number) == 1, "a value came out twice or not at all");
  }
  void nobody_waits() {
    for (Core* core : cores) {
      const auto waiting = core->waiting();
      check(waiting.senders == 0 && waiting.receivers == 0, "a node is left in a list");
    }
  }

  std::deque<Frame> frames;
  int numbers = 0;  // each value its own
  std::vector<Core*> cores;
  std::array<Task*, 4> tasks{};
  std::vector<int> sent, received;  // one OS thread runs them all
};

}  // namespace weft::inline v0::verify

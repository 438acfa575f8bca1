// SPDX-License-Identifier: MIT
// The end of a future against await, cancel and destruction; of two against a race [FUT-1..4].
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "permit_task.hpp"
#include "weft/detail/future_core.hpp"
#include "weft/detail/task_permit.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::FutureRules;
using Task = PermitTask<detail::PermitRules>;

struct Permit {
  Task* task = nullptr;
  std::uint32_t number = 0;
};

template <class Rules>
struct Stage {
  using Core = typename Rules::template Core<Permit>;
  using Gathering = typename Rules::template Gathering<Permit>;
  using Node = typename Core::Node;

  explicit Stage(World& world) {
    for (auto& core : cores) core = &world.make<Core>("future");
    for (auto& value : values) value = &world.make<Plain<int>>("value", 0);
    for (auto& task : tasks) task = &world.make<Task>("task");
    for (auto& frame : frames) frame = &world.make<Frame>("frame");
    refs = &world.make<seam::Atomic<int>>("refs", 2);
  }
  void end(std::size_t number, bool hurries = false) {
    values[number]->write(1);
    cores[number]->end(
        [](const Permit& permit) {
          if (permit.task != nullptr) permit.task->ready(permit.number);
        },
        [hurries](const Permit&) { return hurries; });
  }

  // What lies on a waiter's stack.
  struct Frame {
    Gathering gathering;
    std::array<Node, 2> nodes;
  };
  // The index of the first of `count` futures to end; 9: asked to stop. The frame is gone when it returns.
  std::size_t gather(std::size_t who, std::size_t count) {
    Frame& frame = *frames[who];
    for (std::size_t i = 0; i < count; ++i) {
      frame.nodes[i].gathering = &frame.gathering;
      frame.nodes[i].index = i;
      cores[i]->join(frame.nodes[i]);
    }
    std::size_t first = 9;
    Task& task = *tasks[who];
    for (;;) {
      std::uint32_t number = 0;
      const auto make = [&] { return Permit{&task, number = task.current()}; };
      if (Node* node = frame.gathering.take_or(make)) {
        first = node->index;
        break;
      }
      if (task.suspend(number)) continue;
      if (Node* node = frame.gathering.take_or([] { return Permit{}; })) first = node->index;
      break;
    }
    for (std::size_t i = 0; i < count; ++i) cores[i]->leave(frame.nodes[i]);
    std::destroy_at(&frame);
    std::memset(static_cast<void*>(&frame), 0xff, sizeof frame);
    return first;
  }
  void check_gone(std::size_t who) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(frames[who]);
    for (std::size_t i = 0; i < sizeof(Frame); ++i) check(bytes[i] == 0xff, "somebody wrote to a frame that had gone");
  }
  // As release_future: the last of handle and task destroys it.
  void release() {
    if (refs->fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_at(cores[0]);
    std::memset(static_cast<void*>(cores[0]), 0xff, sizeof *cores[0]);
  }

  std::array<Core*, 2> cores{};
  std::array<Plain<int>*, 2> values{};
  std::array<Task*, 2> tasks{};
  std::array<Frame*, 2> frames{};
  seam::Atomic<int>* refs = nullptr;
};

// One or two await what one ends; the first may be asked to stop.
template <class Rules, std::size_t awaiters, bool stops, bool hurries>
void await(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  world.thread("ends", [stage] { stage->end(0, hurries); });
  for (std::size_t i = 0; i < awaiters; ++i)
    world.thread("awaits " + std::to_string(i), [stage, i] {
      if (stage->gather(i, 1) == 9) {
        check(stops && i == 0, "nobody asked it to stop");
      } else {
        check(stage->values[0]->read() == 1, "awaited, and no value");
      }
    });
  if (stops) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] {
    for (std::size_t i = 0; i < awaiters; ++i) stage->check_gone(i);
  });
}

// The handle joins and goes at once; the task still ends.
template <class Rules>
void destroyed(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  world.thread("ends", [stage] {
    stage->end(0);
    stage->release();
  });
  world.thread("destroys", [stage] {
    check(stage->gather(0, 1) == 0, "nobody asked it to stop");
    stage->release();
  });
  world.finally([stage] {
    stage->check_gone(0);
    const auto* bytes = reinterpret_cast<const unsigned char*>(stage->cores[0]);
    for (std::size_t i = 0; i < sizeof *stage->cores[0]; ++i)
      check(bytes[i] == 0xff, "not destroyed, or written to after");
  });
}

// Two end at the same time: one wins, the other arrives at nobody.
template <class Rules>
void race(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  for (std::size_t i = 0; i < 2; ++i) world.thread("racer " + std::to_string(i), [stage, i] { stage->end(i); });
  world.thread("races", [stage] {
    const std::size_t winner = stage->gather(0, 2);
    check(winner < 2, "no winner");
    check(stage->values[winner]->read() == 1, "won without a value");
    check(stage->cores[winner]->is_over(), "won before its end");
  });
  world.finally([stage] { stage->check_gone(0); });
}

const Register a{
    {.name = "future: its end against one await [X-016]", .run = await<Real, 1, false, false>, .delays = 1}};
const Register b{{.name = "future: its end against two awaits [X-019]", .run = await<Real, 2, false, false>}};
const Register c{
    {.name = "future: its end against an await that is cancelled [X-025]", .run = await<Real, 1, true, false>}};
const Register d{{.name = "future: the same from another Io", .run = await<Real, 1, true, true>}};
const Register e{{.name = "future: its end against its destruction [N-029]", .run = destroyed<Real>, .preemptions = 3}};
const Register f{{.name = "future: a racer that ends with the winner [X-027] [X-040]", .run = race<Real>}};

// A lock in a frame that has gone is held for ever.
const Register m1{{.name = "mutant: future links without a look",
                   .run = await<mutants::future_links_unlooked::Kit::FutureRules, 1, false, false>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: future arrives after its lock",
                   .run = await<mutants::future_arrives_unlocked::Kit::FutureRules, 1, true, false>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: gathering gives the permit of the wait before",
                   .run = await<mutants::future_old_permit::Kit::FutureRules, 1, false, false>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: future wakes the first of two",
                   .run = await<mutants::future_wakes_one::Kit::FutureRules, 2, false, false>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: future leaves without its lock",
                   .run = race<mutants::future_leaves_unlocked::Kit::FutureRules>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify

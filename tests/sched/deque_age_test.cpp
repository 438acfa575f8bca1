// SPDX-License-Identifier: MIT
// Which end of its deque a worker takes from.
#include "sched/deque_age.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include "doctest/doctest.h"
#include "weft/detail/task_core.hpp"

using namespace weft::detail;

namespace {

constexpr std::int64_t ms = DequeAge::old_ns;
constexpr int run = DequeAge::run;

// A deque of numbered entries, and who takes from it.
struct Stage {
  explicit Stage(std::uint64_t first_index = 0) : deque(256, first_index) {}

  std::array<QueueLink, 2000> links{};
  int pushed = 0;
  std::uint64_t pick = 0;
  Deque deque;
  DequeAge age;

  void push(int count) {
    for (int i = 0; i < count; ++i) CHECK(deque.push(Entry(&links[static_cast<std::size_t>(pushed++)], entry_task)));
  }
  // Its number; -1: there is none.
  int take() {
    ++pick;
    const Entry entry = deque.pop_of(age.patience(), [&] { return age.take(deque, pick); });
    return entry ? static_cast<int>(entry.as<QueueLink>() - links.data()) : -1;
  }
};

}  // namespace

TEST_CASE("deque age: the newest is taken from a short deque of young ones [AGE-1]") {
  Stage stage;
  stage.age.look(stage.deque, 1 * ms);
  stage.push(256);
  stage.age.look(stage.deque, 5 * ms);
  stage.age.look(stage.deque, 6 * ms);  // no more than 1 ms
  for (int i = 255; i >= 0; --i) CHECK(stage.take() == i);
  CHECK(stage.take() == -1);
}

TEST_CASE("deque age: from a crowd a run of the oldest, a run of the newest, until it is none [AGE-1]") {
  Stage stage;
  stage.push(256 + 2 * run + 2);
  int newest = stage.pushed;
  for (int i = 0; i < run; ++i) CHECK(stage.take() == i);
  for (int i = 0; i < run; ++i) CHECK(stage.take() == --newest);
  CHECK(stage.take() == run);
  CHECK(stage.take() == run + 1);
  CHECK(stage.deque.size() == 256);
  CHECK(stage.take() == --newest);
  CHECK(stage.take() == --newest);
  newest = stage.pushed;
  stage.push(3);
  CHECK(stage.take() == run + 2);
  CHECK(stage.take() == newest + 2);
}

TEST_CASE("deque age: the one at place k begins before 2k + 2 runs are taken [AGE-1]") {
  for (int before = 0; before < 2 * run; ++before) {  // wherever the run stands
    Stage stage;
    stage.push(256 + before);
    for (int i = 0; i < before; ++i) (void)stage.take();
    const int first = static_cast<int>(stage.deque.oldest_index());
    stage.push(200);
    for (int taken = 0, k = 0; k < 150; ++taken) {
      ++stage.pick;  // of who pushes: no child forks
      if (stage.take() == first + k) {
        CHECK(taken < 2 * k + 2 * run);
        ++k;
      }
      stage.push(1);
    }
  }
}

TEST_CASE(
    "deque age: what stood there for a millisecond, but for a run of the newest, and no younger one [AGE-1] [AGE-2]") {
  for (const std::uint64_t first : {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max() - 1}) {
    Stage stage(first);
    stage.push(run + 2);
    stage.age.look(stage.deque, 1 * ms);
    stage.push(run + 4);
    int newest = stage.pushed;
    CHECK(stage.take() == --newest);
    stage.age.look(stage.deque, 2 * ms + 1);
    for (int i = 0; i < run; ++i) CHECK(stage.take() == i);
    for (int i = 0; i < run; ++i) CHECK(stage.take() == --newest);
    CHECK(stage.take() == run);
    CHECK(stage.take() == run + 1);
    // None of these is old, though this run is the old end's.
    for (int i = 0; i < 3; ++i) CHECK(stage.take() == --newest);
    CHECK(stage.take() == -1);
  }
}

TEST_CASE("deque age: what was taken since, at either end, is not old [AGE-2]") {
  Stage stage;
  stage.push(3);
  stage.age.look(stage.deque, 1 * ms);
  for (int i = 2; i >= 0; --i) CHECK(stage.take() == i);
  stage.age.look(stage.deque, 2 * ms);  // empty
  stage.push(3);
  stage.age.look(stage.deque, 3 * ms);

  // Thieves have what was there.
  for (int i = 0; i < 3; ++i) CHECK(stage.deque.steal().outcome == Deque::Theft::taken);
  stage.push(2);
  stage.age.look(stage.deque, 9 * ms);
  CHECK(stage.take() == 7);

  // Shorter, then longer: what is new does not count, where a look comes between.
  CHECK(stage.take() == 6);
  stage.age.look(stage.deque, 19 * ms);
  stage.push(3);
  stage.age.look(stage.deque, 20 * ms);
  CHECK(stage.take() == 10);
  CHECK(stage.take() == 9);
  stage.age.look(stage.deque, 20 * ms + 1);
  stage.push(2);
  stage.age.look(stage.deque, 22 * ms);
  CHECK(stage.take() == 8);
  CHECK(stage.take() == 12);
  CHECK(stage.take() == 11);
}

TEST_CASE("deque age: where the oldest forks the young end goes first for a while; full looks go on [AGE-3]") {
  Stage stage;
  CHECK_FALSE(stage.age.take_oldest(stage.deque, stage.pick));
  stage.push(300);  // nobody has been taken yet
  CHECK(stage.take() == 0);
  stage.push(300);  // by what was taken
  for (int i = 0; i < static_cast<int>(DequeAge::depth); ++i) CHECK(stage.take() == 599 - i);
  CHECK(stage.take() == 1);
  CHECK(stage.take() == 2);
  // Somebody else has run in between, and it may have been him.
  ++stage.pick;
  stage.push(10);
  CHECK(stage.take() == 3);
  // Taken by a full look.
  CHECK(stage.age.take_oldest(stage.deque, stage.pick).as<QueueLink>() == &stage.links[4]);
  stage.push(1);
  for (int i = 0; i < static_cast<int>(DequeAge::depth); ++i) CHECK(stage.take() != 5);
  CHECK(stage.take() == 5);
}

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

// A deque of numbered entries, and who takes from it.
struct Stage {
  explicit Stage(std::uint64_t first_index = 0) : deque(256, first_index) {}

  std::array<QueueLink, 1000> links{};
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

TEST_CASE("deque age: from a crowd the oldest and the newest in turn, until it is none [AGE-1]") {
  Stage stage;
  stage.push(260);
  CHECK(stage.take() == 0);
  CHECK(stage.take() == 259);
  CHECK(stage.take() == 1);
  CHECK(stage.take() == 258);
  CHECK(stage.deque.size() == 256);
  CHECK(stage.take() == 257);
  CHECK(stage.take() == 256);
  stage.push(3);
  CHECK(stage.take() == 2);
}

TEST_CASE(
    "deque age: what stood there for a millisecond, in turn with the newest, and no younger one [AGE-1] [AGE-2]") {
  for (const std::uint64_t first : {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max() - 1}) {
    Stage stage(first);
    stage.push(3);
    stage.age.look(stage.deque, 1 * ms);
    stage.push(4);
    CHECK(stage.take() == 6);
    stage.age.look(stage.deque, 2 * ms + 1);
    CHECK(stage.take() == 0);
    CHECK(stage.take() == 5);
    CHECK(stage.take() == 1);
    CHECK(stage.take() == 4);
    CHECK(stage.take() == 2);
    stage.push(2);
    CHECK(stage.take() == 8);
    CHECK(stage.take() == 7);
    CHECK(stage.take() == 3);
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
  CHECK(stage.take() == 599 - static_cast<int>(DequeAge::depth));
  CHECK(stage.take() == 2);
  // Somebody else has run in between, and it may have been him.
  ++stage.pick;
  stage.push(10);
  CHECK(stage.take() == 609);
  CHECK(stage.take() == 3);
  // Taken by a full look.
  CHECK(stage.take() == 608);
  CHECK(stage.age.take_oldest(stage.deque, stage.pick).as<QueueLink>() == &stage.links[4]);
  stage.push(1);
  for (int i = 0; i < static_cast<int>(DequeAge::depth); ++i) CHECK(stage.take() != 5);
  CHECK(stage.take() == 5);
}

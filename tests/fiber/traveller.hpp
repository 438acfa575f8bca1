// SPDX-License-Identifier: MIT
// What: fibers that go from thread to thread and check at each stop that the library knows where they are. Used by
// migration_test.cpp and, at other optimisation levels, by tests/programs/migration.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber/lane.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"

namespace weft_test {

// Is the fiber's idea of its thread the thread that it is on?
inline bool at_home() {
  return weft::detail::current_core()->root == weft::detail::thread_root();
}

inline weft::Dyn<int> level("level");

// One step of everything that asks for the current thread's things. Written so that an optimiser may keep whatever it
// can over the yield at its end.
inline int exercise(int round) {
  int wrong = 0;
  wrong += !at_home();
  weft::Fiber child([&] { return weft::yield(round).as<int>() + (at_home() ? 0 : 1000); });
  wrong += child.resume().value.as<int>() != round;
  wrong += child.resume(round).value.as<int>() != round;
  try {
    throw std::runtime_error(std::to_string(round));
  } catch (const std::runtime_error& error) {
    weft::yield(0);
    wrong += error.what() != std::to_string(round);
    wrong += !at_home();
  }
  wrong += weft::protect([&] { throw std::logic_error("x"); }).ok;
  level.set(round);
  weft::yield(0);
  wrong += level.get() != round;
  wrong += !at_home();
  wrong += std::uncaught_exceptions() != 0;
  return wrong;
}

inline weft::Fiber traveller(int rounds) {
  return weft::Fiber([rounds] {
    const std::uint64_t id = weft::current_fiber().id();
    int wrong = 0;
    for (int i = 0; i < rounds; ++i) {
      wrong += exercise(i);
      wrong += weft::current_fiber().id() != id;
    }
    return wrong;
  });
}

// The number of things that were wrong, and of fibers that did not arrive.
inline int travel(int count, int rounds) {
  Lane lanes[2];
  std::vector<weft::Fiber> fibers;
  for (int i = 0; i < count; ++i) fibers.push_back(traveller(rounds));
  int wrong = 0;
  for (std::size_t stop = 0; stop <= static_cast<std::size_t>(rounds) * 2; ++stop)
    for (std::size_t i = 0; i < fibers.size(); ++i)
      lanes[(stop + i) % 2].run([&] {
        fibers[i].resume();
        wrong += !at_home();
      });
  for (const weft::Fiber& fiber : fibers)
    wrong += fiber.state() == weft::State::dead ? fiber.last().value.as<int>() : 1;
  return wrong;
}

}  // namespace weft_test

// SPDX-License-Identifier: MIT
// The exception state of a stack belongs to its fiber: N-004, B26.
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/lane.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using weft_test::Lane;

namespace {

std::string current_text() {
  const std::exception_ptr current = std::current_exception();
  if (current == nullptr) return "none";
  try {
    std::rethrow_exception(current);
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Parks inside its handler; rethrows what it holds when it goes on.
Fiber parked_in_catch(int number) {
  return Fiber([number] {
    try {
      try {
        throw std::runtime_error("error " + std::to_string(number));
      } catch (...) {
        yield(1);
        if (std::uncaught_exceptions() != 0) return std::string("counts of another stack");
        if (current_text() != "error " + std::to_string(number)) return std::string("an error of another stack");
        yield(2);
        throw;
      }
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  });
}

struct YieldsInDestructor {
  std::vector<int>* counts;
  ~YieldsInDestructor() {
    counts->push_back(std::uncaught_exceptions());
    yield(1);
    counts->push_back(std::uncaught_exceptions());
    try {
      throw std::logic_error("inside the destructor");
    } catch (const std::logic_error&) {
      yield(2);
      counts->push_back(std::uncaught_exceptions());
    }
    counts->push_back(std::uncaught_exceptions());
  }
};

Fiber unwinding(std::vector<int>& counts) {
  return Fiber([&counts] {
    try {
      const YieldsInDestructor y{&counts};
      throw std::runtime_error("outer");
    } catch (const std::runtime_error& error) {
      counts.push_back(std::uncaught_exceptions());
      return std::string(error.what());
    }
  });
}

}  // namespace

TEST_CASE("exceptions: a fiber parked inside catch keeps its error, its resumer has none [N-004] [B26]") {
  Fiber f = parked_in_catch(7);
  f.resume();
  CHECK(current_text() == "none");
  CHECK(std::uncaught_exceptions() == 0);
  f.resume();
  CHECK(f.resume().value.as<std::string>() == "error 7");
  CHECK(current_text() == "none");
}

TEST_CASE("exceptions: a resumer inside catch keeps its own while the fiber throws and parks [N-004] [B26]") {
  Fiber f = parked_in_catch(1);
  try {
    throw std::logic_error("mine");
  } catch (const std::logic_error&) {
    f.resume();
    CHECK(current_text() == "mine");
    f.resume();
    CHECK(current_text() == "mine");
  }
  CHECK(current_text() == "none");
  try {
    throw std::logic_error("mine again");
  } catch (const std::logic_error&) {
    CHECK(f.resume().value.as<std::string>() == "error 1");
    CHECK(current_text() == "mine again");
  }
  CHECK(current_text() == "none");
}

TEST_CASE("exceptions: 200 fibers parked inside catch, resumed in mixed order, rethrow each its own [N-004] [B26]") {
  std::vector<Fiber> fibers;
  for (int i = 0; i < 200; ++i) fibers.push_back(parked_in_catch(i));
  int wrong = 0;
  for (std::size_t i = 0; i < 200; ++i) fibers[i * 37 % 200].resume();
  for (std::size_t i = 0; i < 200; ++i) fibers[i * 73 % 200].resume();
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t n = i * 111 % 200;
    if (fibers[n].resume().value.as<std::string>() != "error " + std::to_string(n)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(std::current_exception() == nullptr);
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("exceptions: 200 fibers parked inside catch and then dropped leave nothing behind [B26]") {
  {
    std::vector<Fiber> fibers;
    for (int i = 0; i < 200; ++i) {
      fibers.push_back(parked_in_catch(i));
      fibers.back().resume();
    }
  }
  CHECK(std::current_exception() == nullptr);
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("exceptions: a yield in a destructor while the stack unwinds, a throw and catch in it too [N-004] [B26]") {
  std::vector<int> counts;
  Fiber f = unwinding(counts);
  CHECK(f.resume().bits == sig::yield);
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(current_text() == "none");
  CHECK(f.resume().bits == sig::yield);
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(f.resume().value.as<std::string>() == "outer");
  CHECK(counts == std::vector<int>{1, 1, 1, 1, 0});
}

TEST_CASE("exceptions: handlers in handlers, a yield in each, with fibers that throw between [N-004] [B26]") {
  Fiber f([] {
    std::string seen;
    try {
      throw std::runtime_error("one");
    } catch (...) {
      yield(1);
      try {
        throw std::runtime_error("two");
      } catch (...) {
        yield(2);
        seen += current_text();
        Fiber inner = parked_in_catch(3);
        inner.resume();
        seen += "," + current_text();
        inner.resume();
        seen += "," + inner.resume().value.as<std::string>();
      }
      seen += "," + current_text();
      yield(3);
      seen += "," + current_text();
    }
    return seen + "," + current_text();
  });
  Fiber other = parked_in_catch(9);
  while (!f.resume().ok()) {
    if (other.can_resume()) other.resume();
    CHECK(current_text() == "none");
  }
  CHECK(f.last().value.as<std::string>() == "two,two,error 3,one,one,none");
}

TEST_CASE("exceptions: all of it when each step runs on another thread [N-004] [B26]") {
  Lane lanes[2];
  std::vector<Fiber> fibers;
  std::vector<std::vector<int>> counts(50);
  for (int i = 0; i < 50; ++i) fibers.push_back(parked_in_catch(i));
  for (std::size_t i = 0; i < 50; ++i) fibers.push_back(unwinding(counts[i]));
  int wrong = 0;
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      lanes[(round + i) % 2].run([&] {
        fibers[i].resume();
        if (std::current_exception() != nullptr || std::uncaught_exceptions() != 0) ++wrong;
      });
    }
  }
  CHECK(wrong == 0);
  for (std::size_t i = 0; i < 50; ++i) {
    if (fibers[i].last().value.as<std::string>() != "error " + std::to_string(i)) ++wrong;
    if (fibers[50 + i].last().value.as<std::string>() != "outer") ++wrong;
    if (counts[i] != std::vector<int>{1, 1, 1, 1, 0}) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("exceptions: an error that leaves a fiber on another thread arrives there [N-004]") {
  Lane lane;
  Fiber f([] {
    yield(1);
    throw std::runtime_error("late");
  });
  f.resume();
  std::string seen;
  lane.run([&] {
    try {
      f.resume();
    } catch (const std::runtime_error& error) {
      seen = error.what();
    }
  });
  CHECK(seen == "late");
  CHECK(std::uncaught_exceptions() == 0);
}

// SPDX-License-Identifier: MIT
// One worker per stack, and nobody gives away the stack he stands on: the checks themselves, and a storm under them.
#include "sched/stack_owner.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::detail::FiberCore;

namespace {

// Failed assertions become exceptions here.
class Refusing {
 public:
  Refusing()
      : before_(weft::detail::set_assert_hook(
            [](const char* text, const char*, const char*, int) { throw std::logic_error(text); })) {}
  ~Refusing() { weft::detail::set_assert_hook(before_); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;

 private:
  weft::detail::AssertHook before_;
};

template <class F>
std::string refusal(F&& act) {
  const Refusing refusing;
  try {
    act();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("stack owner: a stack that a worker runs is refused to another [V-018] [V-005]") {
  FiberCore core;
  weft::detail::take_stack(core, 2);
  CHECK(core.owner == 3);
  CHECK(refusal([&] { weft::detail::take_stack(core, 5); }) == "a stack that another worker runs is switched to");
  FiberCore free;
  CHECK(refusal([&] { weft::detail::take_stack(free, 5); }) == "");
  weft::detail::give_stack(free);
  CHECK(refusal([&] { weft::detail::take_stack(free, 1); }) == "");
}

TEST_CASE("stack owner: who stands on a stack can neither pool it nor say that it is left [V-019] [V-045]") {
  const std::string text = "a stack is said to be left, or pooled, by who stands on it";
  weft::run(workers(1), [&] {
    FiberCore* here = weft::detail::current_core();
    CHECK(refusal([&] { weft::detail::check_left(*here); }) == text);
    // From another stack it may be said; of the one around it not.
    std::string own;
    std::string other;
    weft::Fiber inner([&] {
      own = refusal([] { weft::detail::check_left(*weft::detail::current_core()); });
      other = refusal([&] { weft::detail::check_left(*here); });
    });
    (void)inner.resume();
    CHECK(own == text);
    CHECK(other == "");
  });
}

#ifndef NDEBUG
// With assertions each switch of this goes through the checks.
TEST_CASE("stack owner: while a task runs its stack is its worker's, and parked or ended it is nobody's [V-005]") {
  if (!checks_are_on()) return;
  in_each_universe([](const Universe& u) {
    std::atomic<std::uint32_t> flag{0};
    std::atomic<bool> slept{false};  // a task that sleeps is waiting too, and wakes by itself
    weft::with_nursery([&](weft::Nursery& n) {
      weft::Unparker handle;
      auto task = u.spawn(n, [&] {
        handle = weft::unparker();
        for (int i = 0; i < 3; ++i) {
          const FiberCore* root = weft::detail::current_core()->root;
          CHECK(root->owner == weft::detail::this_worker()->index + 1);
          weft::yield_now();
          CHECK(root->owner == weft::detail::this_worker()->index + 1);
          weft::sleep(10us);
        }
        slept.store(true);
        while (flag.load() == 0) (void)weft::park_if(flag, 0);
      });
      until([&] { return slept.load(); });
      until_parked(task);
      CHECK(task.core()->root->owner == 0);
      flag.store(1);
      handle.unpark();
      task.join();
    });
  });
}
#endif

TEST_CASE("stack owner: parks, yields, joins and thefts of a storm never have two workers on a stack [V-005]") {
  if (!checks_are_on()) return;
  weft::RuntimeOptions options = workers(8);
  options.spec_assert = true;
  std::atomic<int> sum = 0;
  weft::run(options, [&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 200; ++i)
        n.start([&, i] {
          for (int round = 0; round < 20; ++round) {
            weft::with_nursery([&](weft::Nursery& inner) {
              auto child = inner.spawn([&, round] {
                if (round % 3 == 0) weft::yield_now();
                if (round % 7 == i % 7) weft::sleep(5us);
                return 1;
              });
              if (round % 2 == 0) weft::yield_now();
              sum += child.join();
            });
          }
        });
    });
  });
  CHECK(sum == 4000);
  CHECK(weft::detail::spec_assertions);
}

TEST_CASE("spec assertions: a runtime that asks for them switches them on [W-106]") {
  if (!checks_are_on()) return;
  weft::detail::spec_assertions = false;
  weft::RuntimeOptions options = workers(1);
  options.spec_assert = false;
  {
    const weft::Runtime quiet(options);
    CHECK_FALSE(weft::detail::spec_assertions);
  }
  options.spec_assert = true;
  const weft::Runtime checked(options);
  CHECK(weft::detail::spec_assertions);
}

// SPDX-License-Identifier: MIT
// A fiber that catches wait or await is asked before something inside it waits [HB8].
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;

namespace {

TEST_CASE("wait: a fiber that catches await gets a request before the sleep; to resume it performs the sleep [HB8]") {
  weft::run([] {
    bool slept = false;
    weft::Fiber f(
        [&] {
          weft::sleep(2ms);
          slept = true;
        },
        "w");
    const weft::Event& event = f.resume();
    REQUIRE(event.bits.overlaps(weft::sig::wait));
    CHECK(event.bits.overlaps(weft::sig::await));
    const auto& request = event.value.as<weft::WaitRequest>();
    CHECK(std::string(request.kind) == "sleep");
    const auto deadline = request.deadline;
    CHECK(deadline != std::chrono::steady_clock::time_point::max());
    CHECK_FALSE(slept);
    f.resume();
    CHECK(slept);
    CHECK(std::chrono::steady_clock::now() >= deadline);
  });
}

TEST_CASE("wait: what a request is answered with by cancel is raised at the wait, which is not performed [HB8]") {
  weft::run([] {
    {
      std::atomic<std::uint32_t> go{0};
      auto task = weft::go([&] {
        while (go.load() == 0) weft::yield_now();
      });
      bool raised = false;
      weft::Fiber f(
          [&] {
            try {
              task.join();
            } catch (const std::runtime_error& error) {
              raised = std::string(error.what()) == "no";
            }
          },
          "w");
      const weft::Event& event = f.resume();
      CHECK(std::string(event.value.as<weft::WaitRequest>().kind) == "join");
      f.cancel(weft::Payload(std::make_exception_ptr(std::runtime_error("no"))));
      CHECK(raised);
      go = 1;
      task.join();
    }
  });
}

TEST_CASE("wait: a mask of all signals but wait lets waits pass: they park, and nobody is asked [HB8]") {
  weft::run([] {
    weft::Fiber f([] { weft::sleep(1ms); }, "yi");
    CHECK(f.resume().ok());
  });
}

TEST_CASE(
    "wait: a wait inside an open nursery of a caught fiber is asked for, and the nursery is whole after it [HB8]") {
  weft::run([] {
    int children = 0;
    weft::Fiber f(
        [&] {
          weft::with_nursery([&](weft::Nursery& n) {
            auto child = n.spawn([&] { ++children; });
            weft::sleep(1ms);
            child.join();
          });
        },
        "w");
    int asked = 0;
    while (!f.resume().ok()) ++asked;
    CHECK(asked >= 1);
    CHECK(children == 1);
  });
}

}  // namespace

// SPDX-License-Identifier: MIT
// Who may spawn in a nursery: the body, what is below it, and threads for which the body waits.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/runtime_error.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Is a spawn there refused, with the reason?
template <class F>
bool refused(F&& spawn) {
  try {
    spawn();
  } catch (const weft::RuntimeError& error) {
    return error.code() == weft::RuntimeErrc::not_in_task &&
           std::string(error.what()).find("a nursery that has ended, or that is not around") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("nursery: a spawn in one that has ended is refused, by its owner and by a thread [HC9]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    runtime.run([&] {
      bool ran = false;
      weft::detail::NurseryCore core;
      weft::detail::open_nursery(core, {});
      weft::Nursery nursery(core);
      nursery.start([&] { ran = true; });
      weft::detail::close_quiet_nursery(core);
      CHECK(ran);
      ran = false;
      const auto late = [&] { nursery.start([&] { ran = true; }); };
      CHECK(refused(late));
      bool by_thread = false;
      std::thread([&] { by_thread = refused(late); }).join();
      CHECK(by_thread);
      weft::yield_now();
      CHECK_FALSE(ran);
    });
    CHECK(runtime.shutdown());
  }
}

TEST_CASE("nursery: spawned in by its body, by children and theirs, by jobs, and by a thread [HC9]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> ran = 0;
    const auto work = [&] { ++ran; };
    weft::with_nursery([&](weft::Nursery& n) {
      n.start(work);
      (void)u.spawn(n, [&] {
        n.start(work);
        (void)n.spawn(work, {.name = "apart"});
        weft::with_nursery([&](weft::Nursery& inner) {
          u.spawn(inner, [&] { weft::timeout(1h, [&] { weft::shield([&] { n.start(work); }); }); }).join();
        });
        weft::par([&] { n.start(work); }, [&] { n.start(work); });
      });
      std::thread([&] { n.start(work); }).join();
    });
    CHECK(ran == 7);
  });
}

TEST_CASE("nursery: a task that is not below it may not spawn in it: it would race with its end [HC9]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> ran = 0;
    const auto work = [&] { ++ran; };
    bool by_stranger = false;
    bool apart = false;
    bool by_sibling = false;
    weft::with_nursery([&](weft::Nursery& outer) {
      weft::with_nursery([&](weft::Nursery& n) {
        weft::go([&] {
          by_stranger = refused([&] { n.start(work); });
          apart = refused([&] { (void)n.spawn(work, {.name = "apart"}); });
        }).join();
        u.spawn(outer, [&] { by_sibling = refused([&] { n.start(work); }); }).wait();
      });
    });
    CHECK(by_stranger);
    CHECK(apart);
    CHECK(by_sibling);
    CHECK(ran == 0);
  });
}

TEST_CASE("nursery: a task that spawns in one that has gone, memory and all, is refused without a look at it [HC9]") {
  using weft::detail::NurseryCore;
  in_each_universe([](const Universe& u) {
    constexpr std::size_t page = 4096;
    static_assert(sizeof(NurseryCore) <= page);
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* core = new (memory) NurseryCore;
    weft::Nursery nursery(*core);
    weft::detail::open_nursery(*core, {});
    weft::detail::close_quiet_nursery(*core);
    core->~NurseryCore();
    REQUIRE(mprotect(memory, page, PROT_NONE) == 0);
    bool ran = false;
    const auto late = [&] { (void)nursery.spawn([&] { ran = true; }, {.name = "late"}); };
    CHECK(refused(late));
    weft::with_nursery([&](weft::Nursery& n) {
      bool by_child = false;
      u.spawn(n, [&] { by_child = refused(late); }).join();
      CHECK(by_child);
    });
    munmap(memory, page);
    CHECK_FALSE(ran);
  });
}

// SPDX-License-Identifier: MIT
#include "weft/task_local.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

struct Counted {
  static inline std::atomic<int> alive{0};
  explicit Counted(int n = 0) : number(n) { ++alive; }
  Counted(Counted&& other) noexcept : number(other.number) { ++alive; }
  Counted& operator=(Counted&& other) noexcept {
    number = other.number;
    return *this;
  }
  ~Counted() { --alive; }
  int number;
};

TEST_CASE("task_local: each task has its own, also over waits and threads, in every universe [N-043]") {
  in_each_universe([](const Universe& universe) {
    weft::TaskLocal<Counted> local;
    std::atomic<bool> wrong{false};
    local.set(Counted(-1));
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 20; ++k)
        (void)universe.spawn(n, [&, k] {
          if (local.find() != nullptr) wrong = true;  // nothing is inherited
          local->number = k;
          for (int i = 0; i < 5; ++i) {
            i % 2 == 0 ? weft::yield_now() : weft::sleep(20us);
            if (local->number != k) wrong = true;
          }
        });
    });
    CHECK_FALSE(wrong);
    CHECK(local->number == -1);
    CHECK(Counted::alive == 1);  // those of the children have ended with them
  });
  CHECK(Counted::alive == 0);
}

TEST_CASE("task_local: a child on its parent's stack does not see the parent's, nor leave its own [N-043]") {
  weft::run([] {
    weft::TaskLocal<int> local([] { return 7; });
    CHECK(*local == 7);
    local.set(1);
    weft::with_nursery([&](weft::Nursery& n) {
      n.spawn([&] {
         CHECK(local.find() == nullptr);
         CHECK(*local == 7);
         local.set(2);
         n.spawn([&] { CHECK(local.find() == nullptr); }).join();
         CHECK(*local == 2);
       }).join();
      CHECK(*local == 1);
    });
    CHECK(local.reset());
    CHECK_FALSE(local.reset());
    CHECK(local.find() == nullptr);
  });
}

TEST_CASE("task_local: fibers of a task share it [N-043]") {
  weft::run([] {
    weft::TaskLocal<int> local;
    local.set(5);
    weft::Fiber f([&] { *local += 1; });
    f.resume();
    CHECK(*local == 6);
  });
}

TEST_CASE("task_local: dies with its task, the youngest first, and may wait while it does [N-043]") {
  std::vector<int> order;
  struct Note {
    Note(std::vector<int>* o, int n) : to(o), number(n) {}
    Note(Note&& other) noexcept : to(std::exchange(other.to, nullptr)), number(other.number) {}
    Note& operator=(Note&&) = delete;
    ~Note() {
      if (to == nullptr) return;
      weft::sleep(10us);
      to->push_back(number);
    }
    std::vector<int>* to;
    int number;
  };
  weft::run([&] {
    weft::TaskLocal<Note> first([&] { return Note(&order, 1); });
    weft::TaskLocal<Note> second([&] { return Note(&order, 2); });
    weft::with_nursery([&](weft::Nursery& n) {
      n.spawn([&] {
         (void)first.get();
         (void)second.get();
       }).join();
      CHECK(order == std::vector{2, 1});
    });
  });
}

TEST_CASE("task_local: another one at the same place is another one [N-043]") {
  weft::run([] {
    alignas(weft::TaskLocal<int>) std::byte room[sizeof(weft::TaskLocal<int>)];
    auto* first = new (room) weft::TaskLocal<int>;
    first->set(1);
    first->~TaskLocal();
    auto* second = new (room) weft::TaskLocal<int>;
    CHECK(second->find() == nullptr);
    second->~TaskLocal();
  });
}

TEST_CASE("task_local: a plain thread has its own, which dies with it [N-043]") {
  weft::TaskLocal<Counted> local;
  std::thread([&] {
    local->number = 3;
    CHECK(Counted::alive == 1);
    std::thread([&] { CHECK(local.find() == nullptr); }).join();
    CHECK(local->number == 3);
  }).join();
  CHECK(Counted::alive == 0);
}

}  // namespace

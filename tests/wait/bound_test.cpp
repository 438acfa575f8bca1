// SPDX-License-Identifier: MIT
// Tasks that are pinned or have a strand, woken by a channel on a worker that takes the short ways: without checks,
// that is, which a debug build would have [LEAVE-1].
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

constexpr int rounds = 30;

weft::RuntimeOptions unwatched(unsigned count) {
  weft::RuntimeOptions options = workers(count);
  options.spec_assert = false;
  return options;
}

}  // namespace

TEST_CASE("channel: who is pinned goes on where it was, though its waker computes and others are idle [N-015]") {
  weft::run(unwatched(2), [] {
    std::array<weft::Channel<int>, 4> channels;
    std::atomic<int> moved = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (auto& channel : channels) {
        (void)n.spawn(
            [&] {
              const long here = syscall(SYS_gettid);
              for ([[maybe_unused]] const int value : channel) moved += syscall(SYS_gettid) != here ? 1 : 0;
            },
            {.pinned = true});
      }
      weft::sleep(1ms);
      for (int round = 0; round < rounds; ++round) {
        for (auto& channel : channels) channel.send(round);
        compute_for(1ms);
      }
      for (auto& channel : channels) channel.close();
    });
    CHECK(moved == 0);
  });
}

TEST_CASE("channel: of one strand's tasks that are woken together one runs at a time [N-015]") {
  weft::run(unwatched(2), [] {
    weft::Strand strand;
    std::array<weft::Channel<int>, 4> channels;
    std::atomic<int> inside = 0;
    std::atomic<int> overlapped = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (auto& channel : channels) {
        (void)n.spawn(
            [&] {
              for ([[maybe_unused]] const int value : channel) {
                overlapped += inside.fetch_add(1) != 0 ? 1 : 0;
                compute_for(300us);
                inside.fetch_sub(1);
              }
            },
            {.strand = &strand});
      }
      weft::sleep(1ms);
      for (int round = 0; round < rounds; ++round) {
        for (auto& channel : channels) channel.send(round);
        compute_for(200us);
      }
      for (auto& channel : channels) channel.close();
    });
    CHECK(overlapped == 0);
  });
}

// SPDX-License-Identifier: MIT
// A worker that is stuck in the kernel, or computes: what comes for others is brought in all the same.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/nursery.hpp"
#include "weft/unix_socket.hpp"

using namespace weft;
using namespace weft_test;

TEST_CASE("io: what a stuck worker has asked for is brought in by others [N-014] [B36]") {
  for (const IoEngine engine : engines()) {
    RuntimeOptions options = with_engine(engine, 1);
    options.max_workers = 2;
    options.stall_report = false;
    Runtime runtime(options);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::atomic<bool> stuck{false};
    auto pair = UnixStream::make_pair();
    std::thread outside([&] {
      CHECK(eventually([&] { return stuck.load(); }));
      pair.second.write_all("x");
    });
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          char byte = 0;
          CHECK(pair.first.read({&byte, 1}) == 1);
          CHECK(::write(ends[1], "x", 1) == 1);  // lets the stuck one go on
        });
        until_parked(reader);
        stuck = true;
        char byte = 0;
        CHECK(::read(ends[0], &byte, 1) == 1);  // holds the only worker
        reader.join();
      });
    });
    outside.join();
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_CASE("io: a worker that only computes does not keep others from theirs") {
  for (const IoEngine engine : engines()) {
    Runtime runtime(with_engine(engine, 2));
    auto pair = UnixStream::make_pair();
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        std::atomic<bool> got{false};
        auto reader = nursery.spawn([&] {
          char byte = 0;
          CHECK(pair.first.read({&byte, 1}) == 1);
          got = true;
        });
        until_parked(reader);
        pair.second.write_all("x");
        CHECK(eventually([&] { return got.load(); }));  // holds this worker
      });
    });
  }
}

// SPDX-License-Identifier: MIT
// Does a little of everything that a trace shows: children, messages both ways, a sleep, a yield, a lock that is
// contended, a wake by a plain thread, two workers.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "weft/channel.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;

int main() {
  weft::RuntimeOptions options;
  options.workers = 2;
  options.stall_report = false;
  weft::Runtime runtime(options);
  long sum = 0;
  runtime.run([&] {
    weft::Channel<int> there{0};
    weft::Channel<int> back{0};
    weft::Mutex mutex;
    weft::SyncEvent rung;
    std::thread ringer;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (int i = 0; i < 50; ++i) {
          there.send(i);
          sum += back.recv().value();
        }
        there.close();
      });
      n.start([&] {
        for (const int value : there) back.send(2 * value);
      });
      for (int i = 0; i < 3; ++i)
        n.start([&] {
          mutex.lock();
          weft::sleep(1ms);
          weft::yield_now();
          mutex.unlock();
        });
      n.start([&] {
        ringer = std::thread([&] { rung.set(); });
        rung.wait();
      });
    });
    ringer.join();
  });
  std::printf("%ld\n", sum);
  return sum == 2450 ? 0 : 1;
}

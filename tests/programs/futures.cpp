// SPDX-License-Identifier: MIT
// What becomes of failures that nobody looks at, and of waits under a BlockingIo in a process of one thread.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

namespace {

void fail() {
  throw std::runtime_error("nobody saw this");
}

int lonely() {
  weft::BlockingIo io;
  return weft::with_io(io, [] {
    weft::Channel<int> meeting(0);
    weft::Future<int> first = weft::async([&] { return meeting.recv().value_or(0); });
    try {
      (void)first.await();
      return 1;
    } catch (const weft::Deadlock& deadlock) {
      std::puts(deadlock.what());
      return 0;
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "lonely") == 0) return lonely();
  return weft::run([what] {
    if (std::strcmp(what, "detached") == 0) {
      std::atomic<bool> begun{false};  // what the end of the run finds unstarted never fails
      weft::async([&] {
        begun = true;
        fail();
      }).detach();
      while (!begun) weft::sleep(1ms);
    }
    if (std::strcmp(what, "detached_late") == 0) {
      weft::Future<void> future = weft::async([] { fail(); });
      while (!future.done()) weft::sleep(1ms);
      future.detach();
    }
    if (std::strcmp(what, "dropped") == 0) {
      weft::Future<void> future = weft::async([] { fail(); });
      future.wait();
    }
    if (std::strcmp(what, "awaited") == 0) {
      weft::Future<void> future = weft::async([] { fail(); });
      try {
        future.await();
      } catch (const std::runtime_error&) {
      }
    }
    if (std::strcmp(what, "cancelled") == 0) {
      weft::Future<void> future = weft::async([] { weft::sleep(1h); });
      weft::sleep(1ms);
    }
    weft::sleep(1ms);
  });
}

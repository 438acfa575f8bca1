// SPDX-License-Identifier: MIT
// deadlock raise|report|maybe: nothing can run any more. What the process says and how it ends is the test.
#include "weft/deadlock.hpp"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  weft::RuntimeOptions options;
  options.workers = 2;
  if (std::strcmp(what, "report") == 0) {
    options.deadlock = weft::RuntimeOptions::OnDeadlock::report;
    alarm(2);  // it waits on: this ends it
  }
  weft::SyncEvent event;
  std::thread stranger;
  if (std::strcmp(what, "maybe") == 0)
    stranger = std::thread([&] {
      std::this_thread::sleep_for(3500ms);
      event.set();
    });
  const int code = weft::exit_on_deadlock([&] {
    return weft::run(options, [&] {
      event.wait();
      return 7;
    });
  });
  if (stranger.joinable()) stranger.join();
  return code;
}

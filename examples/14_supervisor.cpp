// SPDX-License-Identifier: MIT
// A supervisor that starts its children again, with growing pauses, and gives up when it has done so too often.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

namespace {

void say(const std::string& what) {
  std::printf("%3ld s  %s\n", static_cast<long>(weft::now().time_since_epoch() / 1s), what.c_str());
}

// Works for a while; the third one works until it is stopped.
void store(int& lives) {
  say("store: life " + std::to_string(++lives));
  weft::sleep(10s);
  if (lives < 3) throw std::runtime_error("lost its disk");
  weft::sleep(1h);
}

void front() {
  say("front: begins");
  try {
    weft::sleep(1h);
  } catch (const weft::Cancelled&) {
    say("front: stops, for what it needs has gone");
    throw;
  }
}

void example() {
  int lives = 0;
  weft::SupervisorOptions options;
  options.strategy = weft::Strategy::rest_for_one;  // who was added later needs who was added before
  options.max_restarts = 3;
  options.within = 1min;
  options.backoff = {.first = 1s, .factor = 2, .most = 10s};
  weft::Supervisor supervisor(options);
  supervisor.add("store", [&] { store(lives); });
  supervisor.add("front", front);
  weft::Future<void> running = weft::async([&] { supervisor.run(); });
  weft::advance(2min);
  say(std::to_string(supervisor.restarts()) + " restarts");
  supervisor.stop();
  running.await();

  weft::Supervisor hopeless({.max_restarts = 2});
  hopeless.add("broken", [] { throw std::runtime_error("never works"); });
  try {
    hopeless.run();
  } catch (const weft::SupervisorGaveUp& error) {
    say("gave up on " + error.child());
    for (const std::exception_ptr& beside : weft::other_errors()) {
      try {
        std::rethrow_exception(beside);
      } catch (const std::exception& reason) {
        say(std::string("because it ") + reason.what());
      }
    }
  }
}

}  // namespace

int main() {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  return weft::run(options, example);
}

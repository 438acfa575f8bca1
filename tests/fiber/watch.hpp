// SPDX-License-Identifier: MIT
// What: helpers of the fiber tests: who caught a signal, what a child process did, counted objects.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "weft/fiber.hpp"

namespace weft_test {

struct Seen {
  bool caught = false;  // by the resumer of the fiber that emitted it
  bool ended = false;   // the emitter is over
  weft::SignalSet bits;
  int value = 0;
};

// A fiber of this mask emits the bits with the value 7, inside a fiber that catches everything.
inline Seen watch(const weft::Mask& mask, weft::SignalSet bits) {
  Seen seen;
  weft::Fiber inner;
  weft::Fiber outer(
      [&] {
        inner = weft::Fiber([bits] { weft::emit(bits, 7); }, mask);
        const weft::Event& event = inner.resume();
        seen = {true, inner.finished(), event.bits, event.value.as<int>()};
      },
      weft::Mask(weft::sig::all));
  const weft::Event& event = outer.resume();
  if (!event.ok()) seen = {false, inner.finished(), event.bits, event.value.as<int>()};
  return seen;
}

struct Outcome {
  int status = 0;  // as waitpid gives it
  std::string text;
  bool exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

// Runs f in a child process, whose end without another exit code is 0. The text is what it wrote to standard error.
template <class F>
Outcome in_child_process(F&& f) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    f();
    ::_exit(0);
  }
  ::close(ends[1]);
  Outcome outcome;
  char block[4096];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;)
    outcome.text.append(block, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(pid, &outcome.status, 0);
  return outcome;
}

// Counts how many exist.
struct Counted {
  static inline long alive = 0;
  int number = 0;
  explicit Counted(int n = 0) : number(n) { ++alive; }
  Counted(const Counted& other) : number(other.number) { ++alive; }
  Counted(Counted&& other) noexcept : number(other.number) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};

// Runs a function at the end of a scope.
template <class F>
struct AtExit {
  F run;
  explicit AtExit(F f) : run(std::move(f)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { run(); }
};

}  // namespace weft_test

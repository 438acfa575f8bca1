// SPDX-License-Identifier: MIT
// What: a supervisor as Erlang/OTP has it: children that are started again when they fail, by a strategy, no more often
// than an intensity allows.
//
//   weft::Supervisor web({.strategy = weft::Strategy::rest_for_one, .max_restarts = 3, .within = 5s});
//   web.add("store", [] { serve_store(); });
//   web.add("front", [] { serve_front(); });
//   web.run();                                     // until all have ended for good; throws SupervisorGaveUp
//
// Children start in the order in which they were added and are stopped in reverse: asked to stop, and waited for. When
// run() leaves, by whatever way, none of them is left. A supervisor may be a child of another: giving up is its
// failure. Threads: add before run; stop, restarts: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace weft::inline v0 {

// Who else is stopped and started again with a child that is.
enum class Strategy : std::uint8_t {
  one_for_one,
  one_for_all,
  rest_for_one,  // those that were added after it
};

// When a child is started again.
enum class Restart : std::uint8_t {
  permanent,  // always
  transient,  // when it failed
  temporary,  // never
};

// The pause before a restart: first, then factor times the one before, at most `most`. A child that has lived for
// SupervisorOptions::within begins again at first.
struct Backoff {
  std::chrono::nanoseconds first = std::chrono::nanoseconds::zero();
  unsigned factor = 2;
  std::chrono::nanoseconds most = std::chrono::seconds(30);
};

struct SupervisorOptions {
  Strategy strategy = Strategy::one_for_one;
  unsigned max_restarts = 3;  // so many within `within` are made; the next one gives up
  std::chrono::nanoseconds within = std::chrono::seconds(5);
  Backoff backoff = {};
};

// More restarts than its intensity allows. The failure that was one too many stands beside it (weft::other_errors()).
class SupervisorGaveUp : public std::runtime_error {
 public:
  SupervisorGaveUp(const std::string& child, unsigned restarts);
  const std::string& child() const noexcept { return child_; }

 private:
  std::string child_;
};

namespace detail {
class SupervisorCore;
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options = {});
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // A body that returns has ended; one that throws, or is ended by user0-4, has failed.
  void add(std::string name, std::function<void()> body, Restart restart = Restart::permanent);
  // Runs them, in the calling task.
  void run();
  // run() stops them and returns.
  void stop();
  // So far; one for each time that a child's end led to some.
  std::uint64_t restarts() const;

 private:
  std::unique_ptr<detail::SupervisorCore> core_;
};

}  // namespace weft::inline v0

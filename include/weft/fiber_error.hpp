// SPDX-License-Identifier: MIT
// What: every way in which the fiber floor says no, and the two exceptions that carry signals through C++ frames.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include "weft/event.hpp"

namespace weft::inline v0 {

enum class FiberErrc : std::uint8_t {
  empty_handle,  // the Fiber handle refers to nothing
  finished,      // dead or failed: there is no stack left to resume
  alive,         // running on this thread, further up the chain
  foreign,       // running on, or bound to, another thread
  child_alive,   // frozen, but one of its children runs on its own
  too_deep,      // nested resumes beyond the recursion limit
  not_finished,  // asked for something that only a finished or suspended fiber has
  destroyed,     // its last handle was destroyed while it was running
  nothing_to_propagate,
  scope_open,       // it would be left suspended inside a nursery, timeout or shield that is still open
  bad_environment,  // a WEFT_ variable that cannot be understood
};
const char* to_string(FiberErrc code);

// Misuse of a fiber. what() names the fiber and says what to do.
class FiberError : public std::logic_error {
 public:
  FiberError(FiberErrc code, const std::string& what) : std::logic_error(what), code_(code) {}
  FiberErrc code() const noexcept { return code_; }

 private:
  FiberErrc code_;
};

// No stack to be had: address space, mappings, memory, or a size that cannot be served.
class StackError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bits that user code may not emit, or none at all.
class EmitError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A finishing signal on its way through C++ frames: it is thrown where it was emitted and ends fibers until a mask
// catches it. Only for events that were not C++ exceptions to begin with.
class SignalError final : public std::exception {
 public:
  explicit SignalError(Event event);
  SignalError(SignalError&&) = default;
  const char* what() const noexcept override { return text_.c_str(); }

  Event event;

 private:
  std::string text_;
};

// A signal that nobody above catches and that does not end the task: an error at the emitter, which keeps running.
class UncaughtSignal final : public std::exception {
 public:
  explicit UncaughtSignal(Event event);
  UncaughtSignal(UncaughtSignal&&) = default;
  const char* what() const noexcept override { return text_.c_str(); }

  Event event;

 private:
  std::string text_;
};

// A squelched signal fired.
class SignalViolation : public std::runtime_error {
 public:
  SignalViolation(SignalSet squelched, SignalSet fired);
  SignalSet fired() const noexcept { return fired_; }

 private:
  SignalSet fired_;
};

// A muffled signal fired. Not a std::exception, and its bits are error+terminal: it ends everything up to the root.
class MuffledSignal final {
 public:
  MuffledSignal(SignalSet muffled, SignalSet fired);
  const char* what() const noexcept { return text_.c_str(); }

 private:
  std::string text_;
};

// Unwinds a killed fiber. Not a std::exception: handlers for errors do not see it. Swallowed by catch (...), it is
// thrown again at the next suspension point.
struct Unwind final {};

// Unwinds to the boundary of the run: the payload of an uncaught halt.
class Halt final {
 public:
  explicit Halt(Payload value_in) : value(std::move(value_in)) {}
  Payload value;
};

}  // namespace weft::inline v0

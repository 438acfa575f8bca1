// SPDX-License-Identifier: MIT
#include "weft/fiber_error.hpp"

namespace weft::inline v0 {
namespace {

std::string describe(const char* lead, const Event& event) {
  std::string text = lead;
  text += to_string(event.bits);
  if (!event.value.empty()) {
    text += " carrying ";
    text += event.value.to_string();
  }
  return text;
}

}  // namespace

const char* to_string(FiberErrc code) {
  switch (code) {
    case FiberErrc::empty_handle:
      return "empty_handle";
    case FiberErrc::finished:
      return "finished";
    case FiberErrc::alive:
      return "alive";
    case FiberErrc::foreign:
      return "foreign";
    case FiberErrc::child_alive:
      return "child_alive";
    case FiberErrc::too_deep:
      return "too_deep";
    case FiberErrc::not_finished:
      return "not_finished";
    case FiberErrc::destroyed:
      return "destroyed";
    case FiberErrc::nothing_to_propagate:
      return "nothing_to_propagate";
    case FiberErrc::scope_open:
      return "scope_open";
    case FiberErrc::bad_environment:
      return "bad_environment";
  }
  return "?";
}

SignalError::SignalError(Event event_in) : event(std::move(event_in)), text_(describe("signal ", event)) {}

UncaughtSignal::UncaughtSignal(Event event_in)
    : event(std::move(event_in)),
      text_(describe("nobody above catches signal ", event) + "; run the emitter in a Fiber whose mask names it") {}

SignalViolation::SignalViolation(SignalSet squelched, SignalSet fired)
    : std::runtime_error("signal-violation: a function squelched for " + to_string(squelched) + " emitted " +
                         to_string(fired)),
      fired_(fired) {}

MuffledSignal::MuffledSignal(SignalSet muffled, SignalSet fired)
    : text_("a function muffled for " + to_string(muffled) + " emitted " + to_string(fired)) {}

}  // namespace weft::inline v0

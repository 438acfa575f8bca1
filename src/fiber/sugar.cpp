// SPDX-License-Identifier: MIT
#include "weft/sugar.hpp"

#include <string>

#include "base/sys.hpp"
#include "fiber/chain.hpp"
#include "weft/registry.hpp"

namespace weft::inline v0 {
namespace detail {

void ScopedFiber::kill_scoped(FiberCore* core) noexcept {
  Fiber handle = Fiber::adopt(core);
  retain(core);
  try {
    handle.kill();
  } catch (...) {
    // What a body throws while it is unwound concerns nobody any more.
  }
}

Payload take_payload(FiberCore* core) {
  return std::move(const_cast<Event&>(event_of(*core)).value);
}

SignalSet signals_or_throw(std::string_view names) {
  Result<SignalSet> found = signals_named(names);
  if (!found) throw RegistryError(found.error());
  return *found;
}

const Event& raise_on(FiberCore* core, SignalSet bits) {
  Payload value = take_payload(core);
  if (finished(*core)) throw SignalError(Event{bits, std::move(value)});
  retain(core);
  Fiber handle = Fiber::adopt(core);
  return handle.resume(emit(bits, std::move(value)));
}

void abort_muffled(SignalSet muffled, SignalSet fired, const std::source_location& site) {
  std::string text = "weft: a function muffled for " + to_string(muffled) + " emitted " + to_string(fired) +
                     "\n  muffled at " + site.file_name() + ":" + std::to_string(site.line()) + " in " +
                     site.function_name() + "\n";
  sys::write(2, text.data(), text.size());
  throw MuffledSignal(muffled, fired);
}

namespace {
struct LabelExit {
  const Label* label;
  Payload value;
};
}  // namespace

}  // namespace detail

void Label::exit(Payload value) {
  if (!open_) throw std::logic_error("exit from a label whose body has ended");
  emit(sig::user0, Payload::make<detail::LabelExit>(this, std::move(value)));
  throw std::logic_error("exit from a label was resumed; the label is not above this fiber");
}

Payload Label::claim_exit(detail::FiberCore* core) {
  auto& event = const_cast<Event&>(detail::event_of(*core));
  if (auto* exit = event.value.get_if<detail::LabelExit>(); exit != nullptr && exit->label == this)
    return std::move(exit->value);
  detail::retain(core);
  Fiber handle = Fiber::adopt(core);
  propagate(handle);
  return {};
}

}  // namespace weft::inline v0

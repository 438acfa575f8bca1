// SPDX-License-Identifier: MIT
// What happened in an execution, in words.
#include <algorithm>
#include <cstdio>

#include "explorer/execution.hpp"

namespace weft::inline v0::verify {

using hook::Op;

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::assertion:
      return "assertion";
    case Verdict::race:
      return "data race";
    case Verdict::deadlock:
      return "deadlock";
    case Verdict::livelock:
      return "livelock?";
    case Verdict::exception:
      return "exception";
    case Verdict::misuse:
      return "misuse";
    case Verdict::crash:
      return "crash";
    case Verdict::nondeterministic:
      return "scenario is not deterministic";
    case Verdict::replay_diverged:
      return "replay diverged";
  }
  return "?";
}

std::string Execution::name_of(std::int32_t label) const {
  if (label < 0) return "";
  const auto* address = static_cast<const char*>(locations_[static_cast<std::size_t>(label)].address);
  for (const World::Name& name : names_) {
    if (address < name.begin || address >= name.begin + name.size) continue;
    const auto offset = address - name.begin;
    return offset == 0 ? name.label : name.label + "+" + std::to_string(offset);
  }
  return "object " + std::to_string(label + 1);
}

std::string Execution::value_text(std::uint64_t value, bool pointer) const {
  if (pointer) return value == 0 ? "null" : "&" + name_of(static_cast<std::int32_t>(value - 1));
  if (value < 100'000) return std::to_string(value);
  if ((value & named_word_mask) == named_word && ((value >> 32U) & 0xFFFFU) < names_.size()) {
    const auto offset = value & 0xFFFF'FFFFU;
    return "&" + names_[(value >> 32U) & 0xFFFFU].label + (offset == 0 ? "" : "+" + std::to_string(offset));
  }
  if (static_cast<std::int64_t>(value) < 0 && static_cast<std::int64_t>(value) > -100'000) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char hex[20];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(value));
  return hex;
}

std::string Execution::describe(const Event& event) const {
  if (event.action.variant == Variant::flush)
    return "  its delayed store to " + name_of(event.object) + " reaches memory";
  std::string text(to_string(event.op));
  if (event.op == Op::start || event.op == Op::join) return text + " " + thread_name(event.after);
  if (event.op == Op::sleep) return text + " " + std::to_string(event.after) + " ns";
  if (event.op == Op::futex_sleep) {
    text = event.action.variant == Variant::timeout    ? "deadline passes at "
           : event.action.variant == Variant::spurious ? "wakes for no reason at "
                                                       : "wakes at ";
    return text + name_of(event.object);
  }
  if (event.object >= 0) text += " " + name_of(event.object);
  const bool pointer = event.pointer;
  switch (event.op) {
    case Op::load:
      text += " = " + value_text(event.before, pointer);
      break;
    case Op::store:
      text += " := " + value_text(event.after, pointer);
      if (event.action.variant == Variant::delayed) text += ", delayed";
      break;
    case Op::lock:
    case Op::unlock:
    case Op::pause:
    case Op::yield:
    case Op::begin:
    case Op::light_fence:
    case Op::heavy_fence:
      return text;
    case Op::try_lock:
      return text + (event.wrote ? ", taken" : ", held by another");
    case Op::fence:
      break;
    case Op::futex_wait:
      return text + " = " + value_text(event.before, false) + ", expected " + value_text(event.after, false) +
             (event.before == event.after ? ", goes to sleep" : ", changed");
    case Op::futex_wake:
      return text + ", woke " + std::to_string(event.after);
    case Op::compare_exchange:
    case Op::compare_exchange_weak:
      text += event.wrote ? " " + value_text(event.before, pointer) + " -> " + value_text(event.after, pointer)
                          : " failed, found " + value_text(event.before, pointer);
      if (event.action.variant == Variant::spurious) text += ", spuriously";
      break;
    default:
      text += " " + value_text(event.before, pointer) + " -> " + value_text(event.after, pointer);
  }
  return text + " (" + std::string(to_string(event.order)) + ")";
}

std::string Execution::describe() const {
  std::size_t widest = 0;
  for (std::size_t i = 0; i < live_; ++i) widest = std::max(widest, threads_[i]->name.size());
  std::string text;
  std::size_t step = 0;
  constexpr std::size_t head = 100;
  constexpr std::size_t tail = 100;
  for (const Event& event : events_) {
    ++step;
    if (step > head && step + tail <= events_.size()) {
      if (step == head + 1)
        text += "       ... " + std::to_string(events_.size() - head - tail) + " steps left out ...\n";
      continue;
    }
    const std::string number = std::to_string(step);
    const std::string& name = thread_name(event.action.thread);
    text += std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number + "  " + name +
            std::string(widest - name.size() + 2, ' ') + describe(event) + "\n";
  }
  return text;
}

std::string Execution::waits_for(const LogicalThread& thread) const {
  const auto entry = location_of_.find(thread.pending.object);
  const std::string object =
      entry == location_of_.end() ? "an object" : name_of(static_cast<std::int32_t>(entry->second));
  if (thread.sleeping) return "sleeps on futex " + object;
  if (thread.pending.op == Op::lock) {
    const int owner = entry == location_of_.end() ? -1 : locations_[entry->second].owner;
    return "waits for lock " + object +
           (owner < 0 ? "" : ", held by " + threads_[static_cast<std::size_t>(owner)]->name);
  }
  if (thread.pending.op == Op::join) {
    return "waits for the end of " + static_cast<const LogicalThread*>(thread.pending.object)->name;
  }
  return "is stuck before " + std::string(to_string(thread.pending.op));
}

std::string Execution::report_deadlock() const {
  std::string text = "nobody can go on";
  for (std::size_t i = 0; i < live_; ++i) {
    if (!threads_[i]->finished) text += "; " + threads_[i]->name + " " + waits_for(*threads_[i]);
  }
  return text;
}

}  // namespace weft::inline v0::verify

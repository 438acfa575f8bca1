// SPDX-License-Identifier: MIT
#include "explorer/trace.hpp"

#include <cctype>

namespace weft::inline v0::verify {

std::string_view to_string(hook::Op op) {
  using hook::Op;
  switch (op) {
    case Op::begin:
      return "begins";
    case Op::load:
      return "load";
    case Op::store:
      return "store";
    case Op::exchange:
      return "exchange";
    case Op::compare_exchange:
      return "compare_exchange";
    case Op::compare_exchange_weak:
      return "compare_exchange_weak";
    case Op::fetch_add:
      return "fetch_add";
    case Op::fetch_sub:
      return "fetch_sub";
    case Op::fetch_and:
      return "fetch_and";
    case Op::fetch_or:
      return "fetch_or";
    case Op::fetch_xor:
      return "fetch_xor";
    case Op::fence:
      return "fence";
    case Op::light_fence:
      return "light_fence";
    case Op::heavy_fence:
      return "heavy_fence";
    case Op::lock:
      return "lock";
    case Op::try_lock:
      return "try_lock";
    case Op::unlock:
      return "unlock";
    case Op::futex_wait:
      return "futex_wait";
    case Op::futex_sleep:
      return "futex_sleep";
    case Op::futex_wake:
      return "futex_wake";
    case Op::pause:
      return "pause";
    case Op::yield:
      return "yield";
    case Op::sleep:
      return "sleep";
    case Op::start:
      return "start thread";
    case Op::join:
      return "join thread";
  }
  return "?";
}

std::string_view to_string(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

namespace {

constexpr char mark_of(Variant variant) {
  switch (variant) {
    case Variant::delayed:
      return '~';
    case Variant::spurious:
      return '?';
    case Variant::timeout:
      return '!';
    default:
      return '\0';
  }
}

}  // namespace

std::string write_schedule(const std::vector<Action>& actions) {
  std::string text;
  for (std::size_t i = 0; i < actions.size();) {
    std::size_t same = 1;
    while (i + same < actions.size() && actions[i + same] == actions[i]) ++same;
    text += static_cast<char>((actions[i].variant == Variant::flush ? 'A' : 'a') + actions[i].thread);
    if (const char mark = mark_of(actions[i].variant)) text += mark;
    if (same > 1) text += std::to_string(same);
    i += same;
  }
  return text;
}

std::optional<std::vector<Action>> read_schedule(std::string_view text) {
  constexpr std::size_t longest = 1'000'000;
  std::vector<Action> actions;
  for (std::size_t i = 0; i < text.size();) {
    const char letter = text[i++];
    Action action;
    if (letter >= 'a' && letter <= 'z') {
      action.thread = static_cast<std::uint8_t>(letter - 'a');
    } else if (letter >= 'A' && letter <= 'Z') {
      action = {static_cast<std::uint8_t>(letter - 'A'), Variant::flush};
    } else {
      return std::nullopt;
    }
    if (i < text.size() && action.variant != Variant::flush) {
      for (Variant variant : {Variant::delayed, Variant::spurious, Variant::timeout}) {
        if (text[i] == mark_of(variant)) {
          action.variant = variant;
          ++i;
          break;
        }
      }
    }
    std::size_t count = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0 && count < longest) {
      count = count * 10 + static_cast<std::size_t>(text[i++] - '0');
    }
    if (count == 0) count = 1;
    if (count + actions.size() > longest) return std::nullopt;
    actions.insert(actions.end(), count, action);
  }
  return actions;
}

}  // namespace weft::inline v0::verify

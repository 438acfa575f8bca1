// SPDX-License-Identifier: MIT
#include "sim/choices.hpp"

#include <charconv>
#include <stdexcept>

namespace weft::inline v0::detail {
namespace {

constexpr std::string_view stream_letters = "sndfu";

std::array<Random, choice_streams> generators(std::uint64_t seed) {
  Splitmix64 seeds(seed);
  const auto next = [&] { return Random(seeds.next()); };
  return {next(), next(), next(), next(), next()};  // braces: in this order
}

[[noreturn]] void refuse(std::string_view text, std::string_view at) {
  throw std::invalid_argument("a replay is SEED:s3=1,f0=1,... (streams s, n, d, f, u); \"" + std::string(text) +
                              "\" is not, at \"" + std::string(at) + "\"");
}

}  // namespace

const char* to_string(ChoiceStream stream) {
  switch (stream) {
    case ChoiceStream::schedule:
      return "schedule";
    case ChoiceStream::network:
      return "network";
    case ChoiceStream::files:
      return "files";
    case ChoiceStream::fault:
      return "fault";
    case ChoiceStream::user:
      return "user";
  }
  return "?";
}

std::string ChoicePlan::text() const {
  std::string text = std::to_string(seed);
  if (!choices) return text;
  text += ":";
  for (const Choice& choice : *choices) {
    if (text.back() != ':') text += ",";
    text += stream_letters[static_cast<std::size_t>(choice.stream)];
    text += std::to_string(choice.index) + "=" + std::to_string(choice.value);
  }
  return text;
}

ChoicePlan ChoicePlan::parse(std::string_view text) {
  ChoicePlan plan;
  std::string_view left = text;
  const auto number = [&] {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    if (error != std::errc{}) refuse(text, left);
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    return value;
  };
  const auto sign = [&](char wanted) {
    if (left.empty() || left.front() != wanted) refuse(text, left);
    left.remove_prefix(1);
  };
  plan.seed = number();
  if (left.empty()) return plan;
  sign(':');
  plan.choices.emplace();
  while (!left.empty()) {
    if (!plan.choices->empty()) sign(',');
    const std::size_t stream = left.empty() ? std::string_view::npos : stream_letters.find(left.front());
    if (stream == std::string_view::npos) refuse(text, left);
    left.remove_prefix(1);
    Choice choice;
    choice.stream = static_cast<ChoiceStream>(stream);
    choice.index = number();
    sign('=');
    choice.value = number();
    plan.choices->push_back(choice);
  }
  return plan;
}

Choices::Choices(const ChoicePlan& plan)
    : seed_(plan.seed), replays_(plan.choices.has_value()), random_(generators(plan.seed)) {
  if (!replays_) return;
  for (const Choice& choice : *plan.choices) planned_[place(choice.stream)][choice.index] = choice.value;
}

}  // namespace weft::inline v0::detail

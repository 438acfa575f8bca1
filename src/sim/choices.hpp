// SPDX-License-Identifier: MIT
// What: every choice of a run, by streams, and the list of those that were not the usual one (0), which replays it.
//
//   17:s3=1,s9=2,f0=1       seed 17; the third choice of who goes on was the second candidate, ..., the first fault hit
//
// Invariants
//   [CHO-1] A stream numbers its choices by itself: to take one out of a list moves no choice of another stream.
//   [CHO-2] A replay draws nothing. What the list does not name is 0, and so is what no longer fits.
//   [CHO-3] What a stream draws shifts nothing for another one: each has its generator.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace weft::inline v0::detail {

enum class ChoiceStream : std::uint8_t { schedule, network, files, fault, user };
inline constexpr std::size_t choice_streams = 5;
const char* to_string(ChoiceStream stream);

struct Choice {
  ChoiceStream stream = ChoiceStream::schedule;
  std::uint64_t index = 0;
  std::uint64_t value = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

// A seed and the choices to be made; none given: they are drawn.
struct ChoicePlan {
  std::uint64_t seed = 0;
  std::optional<std::vector<Choice>> choices;

  std::string text() const;
  // Throws std::invalid_argument, which says what is wrong where.
  static ChoicePlan parse(std::string_view text);
};

class Choices {
 public:
  explicit Choices(const ChoicePlan& plan);

  std::uint64_t seed() const { return seed_; }
  bool replays() const { return replays_; }
  Random& random(ChoiceStream stream) { return random_[place(stream)]; }

  // A number below `limit`: by the plan, or what draw() gives.
  template <class Draw>
  std::uint64_t take(ChoiceStream stream, std::uint64_t limit, Draw&& draw) {
    const std::uint64_t index = next_[place(stream)]++;
    std::uint64_t value = 0;
    if (replays_) {
      const auto found = planned_[place(stream)].find(index);
      if (found != planned_[place(stream)].end() && found->second < limit) value = found->second;
    } else {
      value = draw();
    }
    if (value != 0) taken_.push_back({stream, index, value});
    return value;
  }
  const std::vector<Choice>& taken() const { return taken_; }  // those that were not 0

 private:
  static std::size_t place(ChoiceStream stream) { return static_cast<std::size_t>(stream); }

  std::uint64_t seed_;
  bool replays_;
  std::array<Random, choice_streams> random_;
  std::array<std::uint64_t, choice_streams> next_{};
  std::array<std::map<std::uint64_t, std::uint64_t>, choice_streams> planned_;
  std::vector<Choice> taken_;
};

// True with probability p: by 32 bits, so that it is the same on every machine.
inline bool draw_chance(Random& random, double p) {
  const std::uint64_t bits = random.next() >> 32;
  return static_cast<double>(bits) < p * 4294967296.0;
}

}  // namespace weft::inline v0::detail

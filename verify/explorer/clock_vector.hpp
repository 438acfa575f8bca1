// SPDX-License-Identifier: MIT
#pragma once
// What: vector clocks, the happens-before order of C++ as far as the memory orders given in the code establish it.

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::inline v0::verify {

inline constexpr std::size_t max_threads = 12;

class ClockVector {
 public:
  std::uint32_t operator[](std::size_t thread) const { return ticks_[thread]; }
  void set(std::size_t thread, std::uint32_t tick) { ticks_[thread] = tick; }
  void tick(std::size_t thread) { ++ticks_[thread]; }
  void join(const ClockVector& other) {
    for (std::size_t i = 0; i < max_threads; ++i) {
      if (other.ticks_[i] > ticks_[i]) ticks_[i] = other.ticks_[i];
    }
  }
  void clear() { ticks_.fill(0); }

 private:
  std::array<std::uint32_t, max_threads> ticks_{};
};

}  // namespace weft::inline v0::verify

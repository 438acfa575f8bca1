// SPDX-License-Identifier: MIT
// What: values that count how many of them live, so that a test sees a leak or a double destruction at once.
#pragma once

#include <cstddef>
#include <utility>

struct Counts {
  int alive = 0;
  int moves = 0;
};

// Size bytes of ballast; Throwing: its move may throw (so says the type), Align: its alignment.
template <std::size_t Size, bool Throwing = false, std::size_t Align = 8>
class alignas(Align) Counted {
 public:
  Counted(Counts& counts, int value) : counts_(&counts), value_(value) { ++counts_->alive; }
  Counted(Counted&& other) noexcept(!Throwing) : counts_(other.counts_), value_(std::exchange(other.value_, -1)) {
    ++counts_->alive;
    ++counts_->moves;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --counts_->alive; }

  int value() const { return value_; }

 private:
  Counts* counts_;
  int value_;
  [[maybe_unused]] unsigned char ballast_[Size - sizeof(void*) - sizeof(int)] = {};
};

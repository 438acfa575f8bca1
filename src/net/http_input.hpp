// SPDX-License-Identifier: MIT
// What: the bytes that came and were not used yet. The head of the message under way is kept in front of them, where it
// is, until the next one begins.
//
//   | used before | kept head | used | unread ... | free |
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "weft/bytes.hpp"

namespace weft::inline v0::detail {

class HttpInput {
 public:
  static constexpr std::size_t first_size = 4096;

  std::string_view unread() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  const char* kept() const { return data_.get() + kept_; }

  // The next message begins: nothing is kept any more.
  void next() {
    if (begin_ == end_) begin_ = end_ = 0;
    kept_ = base_ = begin_;
  }
  // The first `count` bytes that are unread are its head. Makes sure that there is room behind it, so that it stays
  // where it is from now on.
  void keep(std::size_t count) {
    kept_ = begin_;
    begin_ += count;
    base_ = begin_;
    if (size_ - base_ < first_size / 4) move_to(std::max(size_, end_ - kept_ + first_size));
  }
  void use(std::size_t count) { begin_ += count; }

  // Where more can be read to; never empty.
  weft::Room room() {
    if (begin_ == end_) begin_ = end_ = base_;
    // Only of a head, which is not complete: behind a kept one all is used before more is read.
    if (size_ - end_ < first_size / 16) move_to(kept_ > 0 ? size_ : std::max(first_size, 2 * size_));
    return {data_.get() + end_, size_ - end_};
  }
  void came(std::size_t count) { end_ += count; }

 private:
  // Everything from the kept head on goes to the front of a memory of that size.
  void move_to(std::size_t size) {
    if (size > size_) {
      auto larger = std::make_unique_for_overwrite<char[]>(size);
      if (end_ > kept_) std::memcpy(larger.get(), data_.get() + kept_, end_ - kept_);
      data_ = std::move(larger);
      size_ = size;
    } else if (kept_ > 0) {
      std::memmove(data_.get(), data_.get() + kept_, end_ - kept_);
    }
    begin_ -= kept_;
    end_ -= kept_;
    base_ -= kept_;
    kept_ = 0;
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t kept_ = 0;
  std::size_t base_ = 0;  // behind the kept head
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace weft::inline v0::detail

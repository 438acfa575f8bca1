// SPDX-License-Identifier: MIT
//
// What: text for places where nothing may be trusted: signal handlers, failed assertions, a full disk of memory. Writes
// into a buffer that the caller gives; no allocation, no locale, no stdio, no errno.
//   char room[256];  TextWriter out(room);  out.text("fiber ").decimal(id).line();  out.write_to(2);
// Invariants:
//   [TEXT-1] Never writes outside the buffer. What does not fit is dropped, from the first byte that does not fit on,
//            and the text then ends with the mark.
//   [TEXT-2] Async-signal-safe: touches its own buffer and the write syscall only.
// Threads: one at a time per writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::inline v0::detail {

class TextWriter {
 public:
  static constexpr std::string_view cut_mark = "...[cut]\n";

  // Use a buffer larger than the mark.
  explicit TextWriter(std::span<char> buffer) noexcept;

  TextWriter& text(std::string_view words) noexcept;
  TextWriter& text(const char* words) noexcept;  // null: "(null)"
  TextWriter& character(char c) noexcept { return text(std::string_view(&c, 1)); }
  TextWriter& line() noexcept { return character('\n'); }
  TextWriter& decimal(std::int64_t value) noexcept;
  TextWriter& unsigned_decimal(std::uint64_t value) noexcept;
  TextWriter& hex(std::uint64_t value, unsigned least_digits = 1) noexcept;  // no prefix
  TextWriter& pointer(const void* address) noexcept;                         // 0x and 16 digits
  // Three significant places and up: "0ns", "999ns", "1.50us", "12.3ms", "100s", "-2.00s"; never rounds up.
  TextWriter& duration(std::int64_t ns) noexcept;

  std::string_view view() const noexcept { return {begin_, used_}; }
  bool was_cut() const noexcept { return cut_; }
  void clear() noexcept;

  // All of it, going on after short writes and EINTR. False on any other error.
  bool write_to(int fd) const noexcept;

 private:
  char* begin_;
  std::size_t room_;  // without the mark
  bool no_room_;      // not even for the mark: stays empty
  bool cut_;
  std::size_t used_ = 0;
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "base/text_writer.hpp"

#include <cerrno>

#include "base/sys.hpp"

namespace weft::inline v0::detail {

namespace {

void copy(char* to, std::string_view from) {
  for (const char c : from) *to++ = c;
}

}  // namespace

TextWriter::TextWriter(std::span<char> buffer) noexcept
    : begin_(buffer.data()),
      room_(buffer.size() < cut_mark.size() ? 0 : buffer.size() - cut_mark.size()),
      no_room_(buffer.size() < cut_mark.size()),
      cut_(no_room_) {}

TextWriter& TextWriter::text(std::string_view words) noexcept {
  if (cut_) return *this;
  if (words.size() > room_ - used_) {
    words = words.substr(0, room_ - used_);
    cut_ = true;
  }
  copy(begin_ + used_, words);
  used_ += words.size();
  if (cut_) {
    copy(begin_ + used_, cut_mark);
    used_ += cut_mark.size();
  }
  return *this;
}

TextWriter& TextWriter::text(const char* words) noexcept {
  return text(words == nullptr ? std::string_view("(null)") : std::string_view(words));
}

TextWriter& TextWriter::decimal(std::int64_t value) noexcept {
  if (value >= 0) return unsigned_decimal(static_cast<std::uint64_t>(value));
  character('-');
  return unsigned_decimal(0 - static_cast<std::uint64_t>(value));  // also right for the smallest
}

TextWriter& TextWriter::unsigned_decimal(std::uint64_t value) noexcept {
  char digits[20];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return text(std::string_view(digits + first, sizeof digits - first));
}

TextWriter& TextWriter::hex(std::uint64_t value, unsigned least_digits) noexcept {
  char digits[16];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (first > 0 && (value != 0 || sizeof digits - first < least_digits));
  return text(std::string_view(digits + first, sizeof digits - first));
}

TextWriter& TextWriter::pointer(const void* address) noexcept {
  return text("0x").hex(reinterpret_cast<std::uintptr_t>(address), 16);
}

TextWriter& TextWriter::duration(std::int64_t ns) noexcept {
  std::uint64_t value = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    character('-');
    value = 0 - value;
  }
  std::uint64_t unit = 1;
  std::string_view name = "ns";
  if (value >= 1'000'000'000) {
    unit = 1'000'000'000;
    name = "s";
  } else if (value >= 1'000'000) {
    unit = 1'000'000;
    name = "ms";
  } else if (value >= 1'000) {
    unit = 1'000;
    name = "us";
  }
  const std::uint64_t whole = value / unit;
  unsigned_decimal(whole);
  if (unit > 1 && whole < 100) {
    const std::uint64_t hundredths = value % unit / (unit / 100);
    character('.').unsigned_decimal(hundredths / 10);
    if (whole < 10) unsigned_decimal(hundredths % 10);
  }
  return text(name);
}

void TextWriter::clear() noexcept {
  used_ = 0;
  cut_ = no_room_;
}

bool TextWriter::write_to(int fd) const noexcept {
  std::size_t done = 0;
  while (done < used_) {
    const long written = sys::write(fd, begin_ + done, used_ - done);
    if (sys::is_error(written)) {
      if (sys::error_of(written) == EINTR) continue;
      return false;
    }
    if (written == 0) return false;  // would go on for ever
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: the date as HTTP writes it, "Sun, 06 Nov 1994 08:49:37 GMT", made once per second.
// Threads: one at a time.
#pragma once

#include <array>
#include <chrono>
#include <ctime>
#include <string_view>

namespace weft::inline v0::detail {

class HttpDate {
 public:
  std::string_view at(std::time_t when) { return field_at(when).substr(name.size(), 29); }
  // The whole field, with its end.
  std::string_view field_at(std::time_t when) {
    if (when != when_) write(when);
    return {text_.data(), text_.size()};
  }

 private:
  static constexpr std::string_view name = "Date: ";

  void write(std::time_t when) {
    using namespace std::chrono;
    when_ = when;
    const sys_seconds time{seconds(when)};
    const sys_days day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    constexpr std::string_view days_names = "SunMonTueWedThuFriSat";
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    put(0, days_names.substr(std::size_t{weekday(day).c_encoding()} * 3, 3));
    put(3, ", ");
    put(5, static_cast<unsigned>(date.day()));
    put(7, " ");
    put(8, months.substr((std::size_t{static_cast<unsigned>(date.month())} - 1) * 3, 3));
    put(11, " ");
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    put(12, year / 100);
    put(14, year % 100);
    put(16, " ");
    put(17, static_cast<unsigned>(clock.hours().count()));
    put(19, ":");
    put(20, static_cast<unsigned>(clock.minutes().count()));
    put(22, ":");
    put(23, static_cast<unsigned>(clock.seconds().count()));
    put(25, " GMT\r\n");
    name.copy(text_.data(), name.size());
  }
  void put(std::size_t at, std::string_view text) { text.copy(text_.data() + name.size() + at, text.size()); }
  void put(std::size_t at, unsigned number) {
    text_[name.size() + at] = static_cast<char>('0' + number / 10 % 10);
    text_[name.size() + at + 1] = static_cast<char>('0' + number % 10);
  }

  std::time_t when_ = -1;
  std::array<char, name.size() + 29 + 2> text_{};
};

}  // namespace weft::inline v0::detail

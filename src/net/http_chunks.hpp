// SPDX-License-Identifier: MIT
// What: a chunked body (RFC 9112, 7.1) as its bytes come: which of them are body. Pure: no wire, no clock.
//
//   std::size_t used = chunks.skip(text);       // sizes, line ends, trailers: not body
//   if (chunks.state() == Chunks::State::data) ... at most chunks.left() bytes are body; chunks.took(n)
//
// Invariants:
//   [CHUNK-1] What comes out does not depend on how the bytes were cut.
//   [CHUNK-2] Nothing behind the last line end is used.
// Trailers are checked as fields are, and dropped.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http_parser.hpp"

namespace weft::inline v0::detail {

class Chunks {
 public:
  enum class State : std::uint8_t { size, extension, size_end, data, data_cr, data_lf, trailer, trailer_end, end, bad };

  void begin() { *this = Chunks(); }
  // Uses up what is not body, as far as it has come; how many bytes that was.
  std::size_t skip(std::string_view text);
  State state() const { return state_; }
  bool at_data() const { return state_ == State::data; }
  bool at_end() const { return state_ == State::end; }
  const HttpFault& fault() const { return fault_; }

  std::uint64_t left() const { return left_; }  // of this chunk
  void took(std::uint64_t count) {
    left_ -= count;
    if (left_ == 0) state_ = State::data_cr;
  }

 private:
  static constexpr std::size_t most_extra = 16384;  // extensions and trailers, all in all

  State step(char c);
  State refuse(const char* why, int status = 400) {
    fault_ = {status, why};
    return State::bad;
  }
  State step_size(char c);
  State step_trailer(char c);

  State state_ = State::size;
  std::uint8_t digits_ = 0;
  bool line_empty_ = true;  // of the trailer line
  bool in_value_ = false;   // of the trailer line
  std::uint64_t left_ = 0;
  std::size_t extra_ = 0;
  HttpFault fault_;
};

}  // namespace weft::inline v0::detail

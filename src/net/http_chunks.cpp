// SPDX-License-Identifier: MIT
#include "net/http_chunks.hpp"

#include "net/http_text.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace

Chunks::State Chunks::step_size(char c) {
  if (const int digit = hex_of(c); digit >= 0) {
    // 15 digits are less than 2^60; no body has more, and nothing overflows.
    if (++digits_ > 15) return refuse("a chunk's size has too many digits");
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return State::size;
  }
  if (digits_ == 0) return refuse("a chunk without a size");
  if (c == '\r') return State::size_end;
  if (c == ';') return State::extension;
  return refuse("a chunk's size is no number");
}

Chunks::State Chunks::step_trailer(char c) {
  if (++extra_ > most_extra) return refuse("too many trailers", 431);
  if (c == '\r') {
    if (!line_empty_ && !in_value_) return refuse("a trailer without a colon");
    return State::trailer_end;
  }
  if (in_value_) {
    if (!is_http(c, http_value)) return refuse("a trailer's value has control characters");
  } else if (c == ':' && !line_empty_) {
    in_value_ = true;
  } else if (!is_http(c, http_token)) {
    return refuse("a trailer's name has characters it must not have");
  }
  line_empty_ = false;
  return State::trailer;
}

Chunks::State Chunks::step(char c) {
  switch (state_) {
    case State::size:
      return step_size(c);
    case State::extension:
      if (++extra_ > most_extra) return refuse("too many chunk extensions");
      if (c == '\r') return State::size_end;
      return is_http(c, http_value) ? State::extension : refuse("a chunk extension has control characters");
    case State::size_end:
      if (c != '\n') return refuse("CR without LF after a chunk's size");
      digits_ = 0;
      line_empty_ = true;
      return left_ != 0 ? State::data : State::trailer;
    case State::data_cr:
      return c == '\r' ? State::data_lf : refuse("a chunk is longer than its size");
    case State::data_lf:
      return c == '\n' ? State::size : refuse("CR without LF after a chunk");
    case State::trailer:
      return step_trailer(c);
    case State::trailer_end: {
      if (c != '\n') return refuse("CR without LF in the trailers");
      const bool last = line_empty_;
      line_empty_ = true;
      in_value_ = false;
      return last ? State::end : State::trailer;
    }
    case State::data:
    case State::end:
    case State::bad:
      break;
  }
  return state_;
}

std::size_t Chunks::skip(std::string_view text) {
  std::size_t used = 0;
  while (used < text.size() && state_ != State::data && state_ != State::end && state_ != State::bad)
    state_ = step(text[used++]);
  return used;
}

}  // namespace weft::inline v0::detail

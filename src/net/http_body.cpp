// SPDX-License-Identifier: MIT
#include "net/http_body.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "weft/runtime.hpp"
#include "weft/time.hpp"

namespace weft::inline v0::detail {

void throw_wire_error(IoResult result, const char* doing) {
  if (result.os_error() == ECANCELED) yield_now();
  const HttpFailure failure = result.os_error() == ETIMEDOUT ? HttpFailure::timed_out : HttpFailure::closed;
  throw HttpError(failure, failure == HttpFailure::timed_out ? 408 : 0,
                  std::string(doing) + ": " + result.error().message(), result.os_error());
}

void HttpBody::begin(const Framing& framing, std::uint64_t most, const HttpPace& pace) {
  framing_ = framing;
  chunks_.begin();
  ended_ = framing.kind == BodyKind::none;
  left_ = framing.length;
  came_ = 0;
  gone_ = false;
  most_ = most;
  pace_ = pace;
  if (waiter_ != nullptr && framing.kind != BodyKind::none) seen_ = now();
  if (framing.kind == BodyKind::length && framing.length > most)
    throw HttpError(HttpFailure::too_large, 413, "the body is larger than the limit");
}

void HttpBody::fail_early() const {
  throw HttpError(HttpFailure::closed, 400, "the other side has ended in the middle of a body");
}

std::size_t HttpBody::read_wire(weft::Room room) {
  if (waiter_ != nullptr) {
    waiter_->before_wait();
    // The client's time, not the handler's.
    if (pace_.from != never) pace_.from = later(pace_.from, now() - seen_);
  }
  const IoResult result = wire_.read(room, pace_.deadline(came_));
  if (waiter_ != nullptr) seen_ = now();
  gone_ = !result.ok() && result.os_error() != ECANCELED && result.os_error() != ETIMEDOUT;
  if (!result.ok()) throw_wire_error(result, "reading a body");
  return result.count();
}

bool HttpBody::fill() {
  const std::size_t count = read_wire(input_.room());
  input_.came(count);
  return count != 0;
}

std::uint64_t HttpBody::due() {
  switch (framing_.kind) {
    case BodyKind::none:
      return 0;
    case BodyKind::length:
      return left_;
    case BodyKind::until_close:
      return std::numeric_limits<std::uint64_t>::max();
    case BodyKind::chunked:
      break;
  }
  if (!chunks_.at_data()) {
    input_.use(chunks_.skip(input_.unread()));
    if (chunks_.state() == Chunks::State::bad)
      throw HttpError(HttpFailure::bad_message, chunks_.fault().status, chunks_.fault().why);
    if (chunks_.at_data() && chunks_.left() > most_ - came_)
      throw HttpError(HttpFailure::too_large, 413, "the body is larger than the limit");
  }
  ended_ = chunks_.at_end();
  return chunks_.at_data() ? chunks_.left() : 0;
}

void HttpBody::took(std::size_t count) {
  came_ += count;
  if (framing_.kind == BodyKind::chunked) chunks_.took(count);
  if (framing_.kind == BodyKind::length) {
    left_ -= count;
    ended_ = left_ == 0;
  }
  if (came_ > most_) throw HttpError(HttpFailure::too_large, 413, "the body is larger than the limit");
}

std::size_t HttpBody::read(weft::Room room) {
  constexpr std::size_t worth_it = 2048;  // less is read into the buffer first
  if (room.size == 0) return 0;
  while (!ended_) {
    const std::uint64_t here = due();
    if (ended_) break;
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(room.size, here));
    const std::string_view unread = input_.unread();
    if (most > 0 && !unread.empty()) {
      const std::size_t count = std::min(most, unread.size());
      std::memcpy(room.data, unread.data(), count);
      input_.use(count);
      took(count);
      return count;
    }
    if (most >= worth_it) {
      const std::size_t count = read_wire({room.data, most});
      took(count);
      if (count != 0) return count;
    } else if (fill()) {
      continue;
    }
    if (framing_.kind != BodyKind::until_close) fail_early();
    ended_ = true;
  }
  return 0;
}

bool HttpBody::drain(std::uint64_t most) {
  std::array<char, 4096> room;
  if (framing_.kind == BodyKind::length && left_ > most) return false;
  for (std::uint64_t drained = 0; !ended_;) {
    drained += read(room);
    if (drained > most) return false;
  }
  return true;
}

}  // namespace weft::inline v0::detail

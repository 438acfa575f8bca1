// SPDX-License-Identifier: MIT
// What: the body of a message as it comes from the wire, whichever way its length is told.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "net/http_chunks.hpp"
#include "net/http_input.hpp"
#include "net/http_parser.hpp"
#include "net/socket.hpp"
#include "weft/wire.hpp"

namespace weft::inline v0::detail {

// How long the other side may take: until `from`, and a second more for every so many bytes that have come (0: no
// more).
struct HttpPace {
  Deadline from = never;
  std::uint64_t rate = 0;

  Deadline deadline(std::uint64_t bytes) const {
    if (rate == 0 || from == never) return from;
    return later(from, std::chrono::milliseconds(std::min(bytes / rate, std::uint64_t{1} << 32) * 1000));
  }
};

class HttpBody {
 public:
  // Told before the wire is waited for.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void before_wait() = 0;

    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
  };

  HttpBody(Wire& wire, HttpInput& input, Waiter* waiter) : wire_(wire), input_(input), waiter_(waiter) {}

  // Throws HttpError (413) if it says of itself that it is longer than that.
  void begin(const Framing& framing, std::uint64_t most, const HttpPace& pace);
  const Framing& framing() const { return framing_; }
  bool at_end() const { return ended_; }
  bool gone() const { return gone_; }  // the wire has failed
  std::uint64_t came() const { return came_; }

  // At least a byte, or 0: the end. Throws HttpError, Cancelled.
  std::size_t read(weft::Room room);
  // Throws away what is left, if that is no more than so many bytes; false: it is more.
  bool drain(std::uint64_t most);

 private:
  // How many bytes from here on are body for sure; 0: the end, or more is to be read first.
  std::uint64_t due();
  bool fill();  // false: the other side has said its end
  std::size_t read_wire(weft::Room room);
  void took(std::size_t count);
  [[noreturn]] void fail_early() const;

  Wire& wire_;
  HttpInput& input_;
  Waiter* waiter_;
  Framing framing_;
  Chunks chunks_;
  bool ended_ = true;
  bool gone_ = false;
  std::uint64_t left_ = 0;  // BodyKind::length
  std::uint64_t came_ = 0;
  std::uint64_t most_ = 0;
  HttpPace pace_;
  Deadline seen_{};  // when it began, or the last wait ended
};

// Of a wire that failed. Throws Cancelled if that is why.
[[noreturn]] void throw_wire_error(IoResult result, const char* doing);

}  // namespace weft::inline v0::detail

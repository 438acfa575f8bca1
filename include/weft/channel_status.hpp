// SPDX-License-Identifier: MIT
// What: how operations on channels end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft::inline v0 {

enum class SendStatus : std::uint8_t {
  sent,
  full,     // try_send: nobody waits and there is no room; the value is still the caller's
  dropped,  // mode drop_new, and there was no room; still the caller's
  closed,   // still the caller's, as in the two below
  timed_out,
  cancelled,  // only from the forms that do not throw
};
const char* to_string(SendStatus status);

enum class RecvStatus : std::uint8_t {
  received,
  empty,   // try_recv: nothing yet
  closed,  // and drained
  timed_out,
  cancelled,  // only from the forms that do not throw
};
const char* to_string(RecvStatus status);

// How many of several values were sent, and why not more.
struct [[nodiscard]] SentMany {
  std::size_t count = 0;
  SendStatus status = SendStatus::sent;  // sent: all of them
};

enum class ChannelMode : std::uint8_t {
  block,     // a full channel makes its senders wait
  drop_new,  // ... drops what is sent
  drop_old,  // ... drops the oldest it holds
};
const char* to_string(ChannelMode mode);

// Thrown by send() on a closed channel; the value is still the sender's.
class ChannelClosed final : public std::runtime_error {
 public:
  explicit ChannelClosed(std::string reason);
  // As it was given to close().
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

namespace detail {
[[noreturn]] void throw_channel_closed(std::string reason);
std::uint32_t checked_capacity(std::size_t capacity);  // throws std::length_error
}  // namespace detail

}  // namespace weft::inline v0

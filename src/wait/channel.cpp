// SPDX-License-Identifier: MIT
#include <utility>

#include "weft/channel_status.hpp"

namespace weft::inline v0 {

const char* to_string(SendStatus status) {
  switch (status) {
    case SendStatus::sent:
      return "sent";
    case SendStatus::full:
      return "full";
    case SendStatus::dropped:
      return "dropped";
    case SendStatus::closed:
      return "closed";
    case SendStatus::timed_out:
      return "timed_out";
    case SendStatus::cancelled:
      return "cancelled";
  }
  return "?";
}

const char* to_string(RecvStatus status) {
  switch (status) {
    case RecvStatus::received:
      return "received";
    case RecvStatus::empty:
      return "empty";
    case RecvStatus::closed:
      return "closed";
    case RecvStatus::timed_out:
      return "timed_out";
    case RecvStatus::cancelled:
      return "cancelled";
  }
  return "?";
}

const char* to_string(ChannelMode mode) {
  switch (mode) {
    case ChannelMode::block:
      return "block";
    case ChannelMode::drop_new:
      return "drop_new";
    case ChannelMode::drop_old:
      return "drop_old";
  }
  return "?";
}

ChannelClosed::ChannelClosed(std::string reason)
    : std::runtime_error(reason.empty() ? "the channel is closed" : "the channel is closed: " + reason),
      reason_(std::move(reason)) {}

namespace detail {

void throw_channel_closed(std::string reason) {
  throw ChannelClosed(std::move(reason));
}

std::uint32_t checked_capacity(std::size_t capacity) {
  if (capacity >= (std::size_t{1} << 31)) throw std::length_error("a channel holds less than 2^31 values");
  return static_cast<std::uint32_t>(capacity);
}

}  // namespace detail
}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// What: Broadcast<T>: every subscriber gets every value that is sent while it is subscribed, in order, unless it is too
// slow: only the last `capacity` values are kept, and a subscriber that comes later learns how many it has missed.
//
//   weft::Broadcast<Tick> ticks(64);
//   auto mine = ticks.subscribe();
//   while (auto tick = mine.recv()) { if (mine.lag() > 0) resync(); use(**tick); }
//
// Senders never wait. Values are shared, not copied: a subscriber gets a std::shared_ptr<const T>.
// Threads: any for Broadcast; one at a time for a Subscriber, which must not outlive its Broadcast.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "weft/channel_status.hpp"
#include "weft/detail/broadcast_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

template <class T>
class Broadcast {
 public:
  using Shared = std::shared_ptr<const T>;
  class Subscriber;

  explicit Broadcast(std::size_t capacity) : core_(checked(capacity)) {}
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  // Never waits. False: closed.
  bool send(T value) {
    Shared shared = std::make_shared<const T>(std::move(value));
    detail::Claimed woken;
    const bool sent = core_.send(shared, woken);
    detail::deliver_all(woken);
    return sent;
  }
  // What was sent is still received; true: this call has closed it.
  bool close() {
    detail::Claimed woken;
    const bool mine = core_.close(woken);
    detail::deliver_all(woken);
    return mine;
  }
  bool closed() const { return core_.is_closed(); }
  // From the next value on.
  Subscriber subscribe() { return Subscriber(core_); }

 private:
  using Core = detail::BroadcastCoreOf<Shared, detail::TaskCore>;
  static std::size_t checked(std::size_t capacity) {
    if (capacity == 0) throw std::invalid_argument("Broadcast: a capacity of 0 would keep nothing");
    return capacity;
  }
  Core core_;
};

template <class T>
class Broadcast<T>::Subscriber {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The next one that is still kept; nothing: closed, and it has heard everything.
  std::optional<Shared> recv() { return take(recv_by(seam::no_deadline, detail::Raise::yes)); }
  std::optional<Shared> try_recv() {
    std::optional<Shared> value;
    (void)hear(value);
    return value;
  }
  std::expected<Shared, RecvStatus> recv_until(TimePoint when) {
    return recv_by(detail::deadline_at(when), detail::Raise::yes);
  }
  std::expected<Shared, RecvStatus> recv_for(std::chrono::nanoseconds span) {
    return recv_by(detail::deadline_after(span), detail::Raise::yes);
  }
  std::expected<Shared, RecvStatus> recv_result(TimePoint when = TimePoint::max()) noexcept {
    return recv_by(detail::deadline_at(when), detail::Raise::quietly);
  }

  // How many values it had missed right before the last one it received; and ever.
  std::uint64_t lag() const { return lag_; }
  std::uint64_t missed() const { return missed_; }

 private:
  friend class Broadcast;
  explicit Subscriber(Core& core) : core_(&core), at_(core.next()) {}

  detail::Heard hear(std::optional<Shared>& value) { return counted(core_->hear(at_, lag_, value)); }
  detail::Heard counted(detail::Heard heard) {
    missed_ += lag_;
    return heard;
  }
  static std::optional<Shared> take(std::expected<Shared, RecvStatus> got) {
    return got ? std::optional<Shared>(std::move(*got)) : std::nullopt;
  }

  struct Wait {
    Subscriber& self;
    std::optional<Shared>& value;
    detail::Heard heard = detail::Heard::nothing;
    typename Core::Spot spot{};

    detail::WaitInfo info() const { return {"broadcast", self.core_, nullptr}; }
    bool try_complete() {
      heard = self.hear(value);
      return heard != detail::Heard::nothing;
    }
    detail::Published publish(detail::TaskCore& task) {
      heard = self.counted(self.core_->hear_or_park(self.at_, self.lag_, value, task, spot));
      return heard == detail::Heard::nothing ? detail::Published::parking : detail::Published::done;
    }
    void unpublish() {
      if (!spot.claimed()) self.core_->leave(spot);
    }
  };
  std::expected<Shared, RecvStatus> recv_by(std::int64_t deadline, detail::Raise raise) {
    std::optional<Shared> value;
    Wait wait{*this, value};
    switch (detail::wait_on(wait, deadline, raise)) {
      case detail::WaitEnd::timed_out:
        return std::unexpected(RecvStatus::timed_out);
      case detail::WaitEnd::cancelled:
        return std::unexpected(RecvStatus::cancelled);
      case detail::WaitEnd::done:
        break;
    }
    if (!value) (void)hear(value);  // it was woken: something is there, or it is closed
    if (value) return std::move(*value);
    return std::unexpected(RecvStatus::closed);
  }

  Core* core_;
  std::uint64_t at_;
  std::uint64_t lag_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace weft::inline v0

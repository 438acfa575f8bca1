// SPDX-License-Identifier: MIT
// What: Channel<T>: values from senders to receivers, each to one of them, in order. Capacity 0: a sender waits until
// somebody takes its value.
//
//   weft::Channel<int> ch(16);
//   n.spawn([&] { for (int i = 0; i < 10; ++i) ch.send(i); ch.close(); });
//   for (int v : ch) use(v);                        // ends when it is closed and drained
//
// close() is the senders' end: what was sent arrives still, later sends fail. close_recv() is the receivers' end: sends
// fail from then on, waiting ones too, and what was not received is given back. A send that fails has not touched its
// value. A channel belongs to nobody: cancelling a nursery closes nothing.
//
// Forms: send, recv may wait and throw Cancelled, and give others a turn now and then even if they need not wait, so a
// loop over them can be cancelled and starves nobody; try_ never waits; _until and _for wait that long; _result never
// throws. T's move must not throw; it runs while the channel is locked, so it must not wait either.
// Threads: any, tasks and plain threads alike. It must outlive those who use it.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/channel_status.hpp"
#include "weft/detail/channel_wait.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

template <class T>
class Channel {
  static_assert(
      std::is_object_v<T> && std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
      "a channel moves its values while it is locked: T needs a move constructor and a destructor that do not "
      "throw; send a std::unique_ptr<T> where it has none");

 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using value_type = T;
  class Iterator;

  explicit Channel(std::size_t capacity = 0, ChannelMode mode = ChannelMode::block)
      : core_(detail::checked_capacity(capacity)), mode_(mode) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // What nobody has received goes with it, and is counted (undelivered_values).
  ~Channel() {
    if (const std::uint32_t rest = core_.undelivered()) [[unlikely]]
      detail::count_undelivered(rest);
  }

  // --- Sending. Throws ChannelClosed; moves from its argument only if that was sent.
  void send(T&& value) {
    turn();
    if (mode_ != ChannelMode::block) [[unlikely]]
      return sent(send_now(value));
    detail::note_use(core_.last_sender);
    const auto [offered, woken] = core_.send_or_hold(value);
    if (offered == detail::Offered::sent) [[likely]]
      return detail::deliver_one(woken);
    if (offered == detail::Offered::closed) [[unlikely]]
      return sent(SendStatus::closed);
    return detail::park_locked(core_.senders(), core_.lock(), &value, sending, this, core_.last_receiver);
  }
  void send(const T& value)
    requires std::copy_constructible<T>
  {
    send(T(value));
  }
  [[nodiscard]] SendStatus try_send(T&& value) { return send_now(value); }
  [[nodiscard]] SendStatus try_send(const T& value)
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }
  // These throw Cancelled only; the rest is told by the status.
  [[nodiscard]] SendStatus send_until(T&& value, TimePoint when) {
    return send_by(value, detail::deadline_at(when), detail::Raise::yes);
  }
  [[nodiscard]] SendStatus send_for(T&& value, std::chrono::nanoseconds span) {
    return send_by(value, detail::deadline_after(span), detail::Raise::yes);
  }
  [[nodiscard]] SendStatus send_result(T&& value, TimePoint when = TimePoint::max()) noexcept {
    return send_by(value, detail::deadline_at(when), detail::Raise::quietly);
  }
  [[nodiscard]] SendStatus send_until(const T& value, TimePoint when)
    requires std::copy_constructible<T>
  {
    return send_until(T(value), when);
  }
  [[nodiscard]] SendStatus send_for(const T& value, std::chrono::nanoseconds span)
    requires std::copy_constructible<T>
  {
    return send_for(T(value), span);
  }
  [[nodiscard]] SendStatus send_result(const T& value, TimePoint when = TimePoint::max()) noexcept(
      std::is_nothrow_copy_constructible_v<T>)
    requires std::copy_constructible<T>
  {
    return send_result(T(value), when);
  }
  // All of them, in order, and together where they fit. Returns how many were sent, which is less only if the channel
  // was closed, or the caller asked to stop, after the first of them; values from there on are untouched.
  std::size_t send_many(std::span<T> values);
  // The same, as far as they came in that time. Cancelled is thrown only if none of them was sent.
  SentMany send_many_until(std::span<T> values, TimePoint when) {
    return send_many_by(values, detail::deadline_at(when), detail::Raise::yes);
  }
  SentMany send_many_for(std::span<T> values, std::chrono::nanoseconds span) {
    return send_many_by(values, detail::deadline_after(span), detail::Raise::yes);
  }
  SentMany send_many_result(std::span<T> values, TimePoint when = TimePoint::max()) noexcept {
    return send_many_by(values, detail::deadline_at(when), detail::Raise::quietly);
  }

  // --- Receiving. Nothing: closed and drained.
  std::optional<T> recv() {
    turn();
    detail::note_use(core_.last_receiver);
    std::optional<T> value;
    const auto [taken, woken] = core_.recv_or_hold(value);
    if (taken != detail::Got::empty) {
      detail::deliver_one(woken);
    } else {
      detail::park_locked(core_.receivers(), core_.lock(), &value, receiving, this, core_.last_sender);
    }
    return value;
  }
  std::optional<T> try_recv() {
    std::optional<T> value;
    (void)recv_now(value);
    return value;
  }
  // Tells empty from closed.
  [[nodiscard]] RecvStatus try_recv(std::optional<T>& into) {
    into.reset();
    return recv_now(into);
  }
  std::expected<T, RecvStatus> recv_until(TimePoint when) {
    return recv_by(detail::deadline_at(when), detail::Raise::yes);
  }
  std::expected<T, RecvStatus> recv_for(std::chrono::nanoseconds span) {
    return recv_by(detail::deadline_after(span), detail::Raise::yes);
  }
  std::expected<T, RecvStatus> recv_result(TimePoint when = TimePoint::max()) noexcept {
    return recv_by(detail::deadline_at(when), detail::Raise::quietly);
  }
  // Waits for one, then takes what is there, `most` at most, and appends it. Returns how many; 0: closed and drained.
  std::size_t recv_many(std::vector<T>& into, std::size_t most) {
    return recv_many_by(into, most, seam::no_deadline, detail::Raise::yes).value_or(0);
  }
  std::expected<std::size_t, RecvStatus> recv_many_until(std::vector<T>& into, std::size_t most, TimePoint when) {
    return recv_many_by(into, most, detail::deadline_at(when), detail::Raise::yes);
  }
  std::expected<std::size_t, RecvStatus> recv_many_for(std::vector<T>& into, std::size_t most,
                                                       std::chrono::nanoseconds span) {
    return recv_many_by(into, most, detail::deadline_after(span), detail::Raise::yes);
  }
  // Throws nothing but std::bad_alloc, with nothing taken: not if `into` has room for `most`.
  std::expected<std::size_t, RecvStatus> recv_many_result(std::vector<T>& into, std::size_t most,
                                                          TimePoint when = TimePoint::max()) {
    return recv_many_by(into, most, detail::deadline_at(when), detail::Raise::quietly);
  }

  // Each value until it is closed and drained. ++ is lazy: it takes nothing before the next value is looked at.
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

  // --- Closing. The first reason stays. True: this call has closed it.
  bool close(std::string reason = {});
  // Gives back what nobody has received. Throws std::bad_alloc, with nothing changed, if there is no room for that.
  std::vector<T> close_recv(std::string reason = {});
  bool closed() const { return core_.is_closed(); }
  // Empty while it is open.
  std::string close_reason() const { return core_.reason(); }

  // --- A moment's view.
  std::size_t size() const { return core_.size(); }
  std::size_t capacity() const { return core_.capacity(); }
  ChannelMode mode() const { return mode_; }
  // What drop_new and drop_old have thrown away.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // For the library's own floors.
  detail::ChannelCore<T>& core() { return core_; }
  detail::Overflow overflow() { return {mode_, &dropped_}; }

 private:
  // Before the operation, so that it is done xor cancelled.
  void turn() {
    if (core_.turn_due()) [[unlikely]]
      detail::take_turn();
  }
  // full: the caller may wait.
  SendStatus send_now(T& value) {
    if (core_.looks_sendable()) [[likely]] {
      detail::TaskCore* woken = nullptr;
      const detail::Offered offered = core_.try_send(value, woken);
      detail::note_use(core_.last_sender);
      detail::deliver_one(woken);
      if (offered == detail::Offered::sent) [[likely]]
        return SendStatus::sent;
      if (offered == detail::Offered::closed) return SendStatus::closed;
    }
    return mode_ == ChannelMode::block ? SendStatus::full : drop_one(value);
  }
  RecvStatus recv_now(std::optional<T>& into) {
    if (!core_.looks_receivable()) return RecvStatus::empty;
    detail::TaskCore* woken = nullptr;
    const detail::Got taken = core_.try_recv(into, woken);
    detail::note_use(core_.last_receiver);
    detail::deliver_one(woken);
    if (taken == detail::Got::value) [[likely]]
      return RecvStatus::received;
    return taken == detail::Got::closed ? RecvStatus::closed : RecvStatus::empty;
  }
  SendStatus drop_one(T& value);
  // Plain waits that did not end with data.
  static void send_on(void* channel, void* value, detail::WakeReason reason);
  static void recv_on(void* channel, void* into, detail::WakeReason reason);
  static void withdraw_sender(void* channel, detail::WaitNode& node);
  static void withdraw_receiver(void* channel, detail::WaitNode& node);
  static constexpr detail::ParkSide sending{"send", &Channel::withdraw_sender, &Channel::send_on};
  static constexpr detail::ParkSide receiving{"recv", &Channel::withdraw_receiver, &Channel::recv_on};
  void sent(SendStatus status) const {
    if (status == SendStatus::closed) [[unlikely]]
      detail::throw_channel_closed(close_reason());
  }
  // `offered`: who catches waits has been asked.
  SendStatus park_send(T& value, std::int64_t deadline, detail::Raise raise, bool offered = false);
  RecvStatus park_recv(std::optional<T>& into, std::int64_t deadline, detail::Raise raise, bool offered = false);
  SendStatus send_by(T& value, std::int64_t deadline, detail::Raise raise) {
    if (raise == detail::Raise::yes) turn();
    const SendStatus status = send_now(value);
    return status == SendStatus::full ? park_send(value, deadline, raise) : status;
  }
  SentMany send_many_by(std::span<T> values, std::int64_t deadline, detail::Raise raise);
  std::expected<std::size_t, RecvStatus> recv_many_by(std::vector<T>& into, std::size_t most, std::int64_t deadline,
                                                      detail::Raise raise);
  std::expected<T, RecvStatus> recv_by(std::int64_t deadline, detail::Raise raise) {
    if (raise == detail::Raise::yes) turn();
    std::optional<T> value;
    RecvStatus status = recv_now(value);
    if (status == RecvStatus::empty) status = park_recv(value, deadline, raise);
    if (value) return std::move(*value);
    return std::unexpected(status);
  }

  mutable detail::ChannelCore<T> core_;
  const ChannelMode mode_;
  seam::Atomic<std::uint64_t> dropped_{0};  // a counter, nothing hangs on it
};

template <class T>
class Channel<T>::Iterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  explicit Iterator(Channel& channel) : channel_(&channel) {}
  T& operator*() const {
    look();
    return *value_;
  }
  Iterator& operator++() {
    look();
    value_.reset();
    looked_ = false;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) {
    it.look();
    return !it.value_.has_value();
  }

 private:
  void look() const {
    if (looked_) return;
    value_ = channel_->recv();
    looked_ = true;
  }
  Channel* channel_;
  mutable std::optional<T> value_;
  mutable bool looked_ = false;
};

template <class T>
[[gnu::noinline]] SendStatus Channel<T>::drop_one(T& value) {
  std::optional<T> old;  // destroyed without the lock
  detail::TaskCore* woken = nullptr;
  detail::Offered offered =
      mode_ == ChannelMode::drop_old ? core_.send_over_oldest(value, old, woken) : core_.try_send(value, woken);
  detail::deliver_one(woken);
  if (offered == detail::Offered::closed) return SendStatus::closed;
  if (old.has_value() || offered == detail::Offered::full) dropped_.fetch_add(1, std::memory_order_relaxed);
  return offered == detail::Offered::sent ? SendStatus::sent : SendStatus::dropped;
}

template <class T>
void Channel<T>::withdraw_sender(void* channel, detail::WaitNode& node) {
  static_cast<Channel*>(channel)->core_.withdraw_sender(node);
}

template <class T>
void Channel<T>::withdraw_receiver(void* channel, detail::WaitNode& node) {
  static_cast<Channel*>(channel)->core_.withdraw_receiver(node);
}

template <class T>
void Channel<T>::send_on(void* channel, void* value, detail::WakeReason reason) {
  auto& self = *static_cast<Channel*>(channel);
  self.sent(reason == detail::WakeReason::closed
                ? SendStatus::closed
                : self.park_send(*static_cast<T*>(value), seam::no_deadline, detail::Raise::yes,
                                 reason != detail::WakeReason::none));
}

template <class T>
void Channel<T>::recv_on(void* channel, void* into, detail::WakeReason reason) {
  if (reason == detail::WakeReason::closed) return;
  (void)static_cast<Channel*>(channel)->park_recv(*static_cast<std::optional<T>*>(into), seam::no_deadline,
                                                  detail::Raise::yes, reason != detail::WakeReason::none);
}

template <class T>
[[gnu::noinline]] SendStatus Channel<T>::park_send(T& value, std::int64_t deadline, detail::Raise raise, bool offered) {
  detail::note_use(core_.last_sender);
  detail::SendWait<T> wait(core_, value);
  switch (detail::park_on(wait, deadline, raise, offered)) {
    case detail::WaitEnd::timed_out:
      return SendStatus::timed_out;
    case detail::WaitEnd::cancelled:
      return SendStatus::cancelled;
    case detail::WaitEnd::done:
      break;
  }
  return wait.sent() ? SendStatus::sent : SendStatus::closed;
}

template <class T>
[[gnu::noinline]] RecvStatus Channel<T>::park_recv(std::optional<T>& into, std::int64_t deadline, detail::Raise raise,
                                                   bool offered) {
  detail::note_use(core_.last_receiver);
  detail::RecvWait<T> wait(core_, into);
  switch (detail::park_on(wait, deadline, raise, offered)) {
    case detail::WaitEnd::timed_out:
      return RecvStatus::timed_out;
    case detail::WaitEnd::cancelled:
      return RecvStatus::cancelled;
    case detail::WaitEnd::done:
      break;
  }
  return into.has_value() ? RecvStatus::received : RecvStatus::closed;
}

template <class T>
std::size_t Channel<T>::send_many(std::span<T> values) {
  const SentMany many = send_many_by(values, seam::no_deadline, detail::Raise::yes);
  if (many.count == 0 && many.status == SendStatus::closed) detail::throw_channel_closed(close_reason());
  return many.count;
}

template <class T>
SentMany Channel<T>::send_many_by(std::span<T> values, std::int64_t deadline, detail::Raise raise) {
  if (raise == detail::Raise::yes) turn();
  std::size_t sent = 0;
  while (sent < values.size()) {
    if (mode_ != ChannelMode::block) {
      if (send_now(values[sent]) == SendStatus::closed) return {sent, SendStatus::closed};
      ++sent;
      continue;
    }
    detail::Claimed woken;
    bool closed = false;
    sent += core_.offer_many(values.data() + sent, values.size() - sent, closed, woken);
    detail::deliver_all(woken);
    if (closed) return {sent, SendStatus::closed};
    if (sent == values.size()) break;
    // What was sent is sent: a request to stop is raised at the caller's next suspension point.
    const SendStatus status = park_send(values[sent], deadline, sent == 0 ? raise : detail::Raise::quietly);
    if (status != SendStatus::sent) return {sent, status};
    ++sent;
  }
  return {sent, SendStatus::sent};
}

template <class T>
std::expected<std::size_t, RecvStatus> Channel<T>::recv_many_by(std::vector<T>& into, std::size_t most,
                                                                std::int64_t deadline, detail::Raise raise) {
  if (most == 0) return 0;
  if (raise == detail::Raise::yes) turn();
  const std::size_t batch = std::min<std::size_t>(most, std::max<std::size_t>(capacity(), 16));
  if (into.capacity() - into.size() < batch) into.reserve(std::max(into.size() + batch, 2 * into.capacity()));
  const auto take = [&](std::size_t count) {
    detail::Claimed woken;
    bool closed = false;
    const std::size_t taken =
        core_.take_many(count, [&](T&& value) { into.push_back(std::move(value)); }, closed, woken);
    detail::deliver_all(woken);
    return taken;
  };
  if (const std::size_t taken = core_.looks_receivable() ? take(batch) : 0) return taken;
  std::optional<T> first;
  const RecvStatus status = park_recv(first, deadline, raise);
  if (status != RecvStatus::received) return std::unexpected(status);
  into.push_back(std::move(*first));
  return 1 + (batch > 1 && core_.looks_receivable() ? take(batch - 1) : 0);
}

template <class T>
bool Channel<T>::close(std::string reason) {
  detail::Claimed woken;
  const auto memory = [](std::size_t count) -> T* {
    try {
      return std::allocator<T>().allocate(count);
    } catch (const std::bad_alloc&) {
      return nullptr;  // they are drained in place [CHAN-4]
    }
  };
  const bool mine = core_.close(reason, memory, woken);
  detail::deliver_all(woken);
  return mine;
}

template <class T>
std::vector<T> Channel<T>::close_recv(std::string reason) {
  std::vector<T> rest;
  detail::Claimed woken;
  core_.close_recv(
      reason, [&](std::size_t count) { rest.reserve(count); }, [&](T&& value) { rest.push_back(std::move(value)); },
      woken);
  detail::deliver_all(woken);
  return rest;
}

}  // namespace weft::inline v0

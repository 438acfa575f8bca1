// SPDX-License-Identifier: MIT
// What: Pool<T>: a channel that owns what goes through it. Who needs one takes an idle one, or a new one while fewer
// than `limit` exist, or waits; it goes back by itself.
//
//   weft::Pool<Connection> pool(8, {.on_create = [] { return Connection(host); }, .on_reset = [](auto& c) { c.reset();
//   }}); auto connection = pool.take(); connection->ask(...);                          // goes back when `connection`
//   goes
//
// on_create runs in the taker and may wait and throw; on_reset runs when one comes back: if it throws that one is
// destroyed. on_destroy sees each before its end.
// Threads: any. It must outlive what was taken from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include "weft/select.hpp"

namespace weft::inline v0 {

template <class T>
struct PoolHooks {
  std::function<T()> on_create = [] { return T(); };
  std::function<void(T&)> on_reset = {};
  std::function<void(T&)> on_destroy = {};
};

template <class T>
class Pool {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  class Taken;

  explicit Pool(std::size_t limit, PoolHooks<T> hooks = {})
      : hooks_(std::move(hooks)), idle_(checked(limit)), unmade_(limit) {
    for (std::size_t i = 0; i < limit; ++i) (void)unmade_.try_send(Unmade{});
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    while (std::optional<T> one = idle_.try_recv()) destroy(*one);
  }

  // Waits for one if all are out. Throws Cancelled, ChannelClosed after close(), and what on_create throws.
  Taken take() {
    Got got = take_by(TimePoint::max(), detail::Raise::yes);
    return std::move(*unless_closed(got));
  }
  // Nothing: all are out.
  std::optional<Taken> try_take() {
    Got got = look();
    return taken(got);
  }
  // Nothing: all were out for so long.
  std::optional<Taken> take_for(std::chrono::nanoseconds span) {
    return take_until(TimePoint(std::chrono::nanoseconds(detail::deadline_after(span))));
  }
  std::optional<Taken> take_until(TimePoint when) {
    Got got = take_by(when, detail::Raise::yes);
    return taken(got);
  }
  // Throws nothing but what on_create throws: closed, timed_out and cancelled come as values.
  std::expected<Taken, RecvStatus> take_result(TimePoint when = TimePoint::max()) {
    return take_by(when, detail::Raise::quietly);
  }

  // Nobody takes any more; those who wait are told. What is out still comes back.
  void close(const std::string& reason = {}) {
    (void)unmade_.close(reason);
    closed_.store(true, std::memory_order_release);
    // Who waits for an idle one waits for an unmade one, too, and that end is closed.
  }
  std::size_t idle() const { return idle_.size(); }
  std::size_t limit() const { return idle_.capacity(); }

 private:
  struct Unmade {};
  using Got = std::expected<Taken, RecvStatus>;

  static std::size_t checked(std::size_t limit) {
    if (limit == 0) throw std::invalid_argument("Pool: a limit of 0 has nothing to give");
    return limit;
  }
  void destroy(T& one) {
    if (hooks_.on_destroy) hooks_.on_destroy(one);
  }
  // Without waiting: one, or empty, or closed.
  Got look() {
    if (closed_.load(std::memory_order_acquire)) return std::unexpected(RecvStatus::closed);
    if (std::optional<T> one = idle_.try_recv()) return Taken(*this, std::move(*one));
    std::optional<Unmade> place;
    const RecvStatus status = unmade_.try_recv(place);
    if (status == RecvStatus::received) return make();
    return std::unexpected(status);
  }
  Got take_by(TimePoint when, detail::Raise raise) {
    Got got = look();
    if (got || got.error() != RecvStatus::empty) return got;
    if (raise == detail::Raise::yes) {
      auto won = weft::select_until(when, op::recv(idle_), op::recv(unmade_));
      return won ? settle(*won) : Got(std::unexpected(RecvStatus::timed_out));
    }
    auto won = weft::select_result(when, op::recv(idle_), op::recv(unmade_));
    if (won) return settle(*won);
    return std::unexpected(won.error() == WaitResult::timed_out ? RecvStatus::timed_out : RecvStatus::cancelled);
  }
  Got& unless_closed(Got& got) {
    if (!got && got.error() == RecvStatus::closed) detail::throw_channel_closed(unmade_.close_reason());
    return got;
  }
  std::optional<Taken> taken(Got& got) {
    if (unless_closed(got)) return std::move(*got);
    return std::nullopt;
  }
  Taken make() {
    try {
      return Taken(*this, hooks_.on_create());
    } catch (...) {
      (void)unmade_.try_send(Unmade{});  // the place is somebody else's again
      throw;
    }
  }
  Got settle(std::variant<std::optional<T>, std::optional<Unmade>>& won) {
    if (won.index() == 0) return Taken(*this, std::move(*std::get<0>(won)));
    if (!std::get<1>(won)) return std::unexpected(RecvStatus::closed);
    return make();
  }
  // It came back.
  void put(T&& one) noexcept {
    try {
      if (hooks_.on_reset) hooks_.on_reset(one);
      (void)idle_.try_send(std::move(one));  // there is room for all that exist
    } catch (...) {
      drop(one);
    }
  }
  void drop(T& one) noexcept {
    destroy(one);
    (void)unmade_.try_send(Unmade{});
  }

  PoolHooks<T> hooks_;
  Channel<T> idle_;
  Channel<Unmade> unmade_;  // a place for each that does not exist yet
  seam::Atomic<bool> closed_{false};
};

// One of them, for a while.
template <class T>
class Pool<T>::Taken {
 public:
  Taken(Taken&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), one_(std::move(other.one_)) {}
  Taken& operator=(Taken&&) = delete;
  ~Taken() {
    if (pool_ != nullptr) pool_->put(std::move(one_));
  }
  T& operator*() { return one_; }
  T* operator->() { return &one_; }
  // It is of no more use: it is destroyed, and another one may be made in its place.
  void discard() && {
    if (Pool* pool = std::exchange(pool_, nullptr)) pool->drop(one_);
  }

 private:
  friend class Pool;
  Taken(Pool& pool, T&& one) : pool_(&pool), one_(std::move(one)) {}
  Pool* pool_;
  T one_;
};

}  // namespace weft::inline v0

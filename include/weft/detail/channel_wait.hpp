// SPDX-License-Identifier: MIT
// What: one send and one receive as waitables.
// Threads: the waiter; the node is touched by others under the channel's lock.
#pragma once

#include <optional>

#include "weft/detail/channel_core.hpp"
#include "weft/detail/last_seen.hpp"
#include "weft/detail/wait_core.hpp"

namespace weft::inline v0::detail {

template <class T>
using ChannelCore = ChannelCoreOf<T, TaskCore>;

inline void deliver_one(TaskCore* woken) {
  if (woken != nullptr) deliver_wake(woken);
}

template <class T>
class SendWait {
 public:
  SendWait(ChannelCore<T>& core, T& value) : core_(core), value_(value) { node_.winner = &winner_; }

  WaitInfo info() const { return {.kind = "send", .object = &core_, .last_seen = core_.last_receiver}; }
  bool try_complete() {
    TaskCore* woken = nullptr;
    offered_ = core_.try_send(value_, woken);
    deliver_one(woken);
    return offered_ != Offered::full;
  }
  [[gnu::always_inline]] Published publish(TaskCore& task) {
    TaskCore* woken = nullptr;
    offered_ = core_.send_or_park(value_, task, node_, woken);
    if (offered_ == Offered::full) return Published::parking;
    deliver_one(woken);
    return Published::done;
  }
  // A claimed node is out already [LIST-2], and who claimed it is done with it.
  void unpublish() {
    if (winner_ == nullptr) return core_.withdraw_sender(node_);
    offered_ = node_.slot == nullptr ? Offered::closed : Offered::sent;  // [CHAN-6]
  }
  // Once done.
  bool sent() const { return offered_ == Offered::sent; }

 private:
  ChannelCore<T>& core_;
  T& value_;
  WaitNode node_;
  WaitNode* winner_ = nullptr;
  Offered offered_ = Offered::full;
};

// Done: the value is there, or the channel is closed and drained.
template <class T>
class RecvWait {
 public:
  RecvWait(ChannelCore<T>& core, std::optional<T>& into) : core_(core), into_(into) { node_.winner = &winner_; }

  WaitInfo info() const { return {.kind = "recv", .object = &core_, .last_seen = core_.last_sender}; }
  bool try_complete() {
    TaskCore* woken = nullptr;
    const Got taken = core_.try_recv(into_, woken);
    deliver_one(woken);
    return taken != Got::empty;
  }
  [[gnu::always_inline]] Published publish(TaskCore& task) {
    TaskCore* woken = nullptr;
    if (core_.recv_or_park(into_, task, node_, woken) == Got::empty) return Published::parking;
    deliver_one(woken);
    return Published::done;
  }
  void unpublish() {
    if (winner_ == nullptr) core_.withdraw_receiver(node_);
  }

 private:
  ChannelCore<T>& core_;
  std::optional<T>& into_;
  WaitNode node_;
  WaitNode* winner_ = nullptr;
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: one send and one receive as cases of a select.
// Threads: the selecting task; see select_core.hpp.
#pragma once

#include <optional>
#include <utility>

#include "weft/detail/channel_core.hpp"
#include "weft/detail/select_core.hpp"

namespace weft::inline v0::detail {

template <class T, class Task>
class RecvCaseOf final : public SelectCaseOf<Task> {
 public:
  explicit RecvCaseOf(ChannelCoreOf<T, Task>& core) : core_(&core) {}

  bool looks_ready() const final { return core_->looks_receivable(); }
  seam::SpinLock* lock() final { return &core_->lock(); }
  bool look(Task*& woken) final {
    value.reset();
    return core_->take(value, woken) != Got::empty;
  }
  void link(Task& task) final { core_->link_receiver_parking(value, task, this->node); }
  void unlink() final { core_->unlink_receiver(this->node); }
  void claimed() final {}
  typename SelectCaseOf<Task>::About about() const final { return {"recv", core_, nullptr, core_->last_sender}; }

  std::optional<T> value;  // once it has won: nothing means closed and drained

 private:
  ChannelCoreOf<T, Task>* core_;
};

template <class T, class Task>
class SendCaseOf final : public SelectCaseOf<Task> {
 public:
  // `value` stays where it is; it is moved from if the case wins and the channel takes it.
  SendCaseOf(ChannelCoreOf<T, Task>& core, T& value, Overflow overflow = {})
      : core_(&core), value_(&value), overflow_(overflow) {}

  bool looks_ready() const final { return overflow_.mode != ChannelMode::block || core_->looks_sendable(); }
  seam::SpinLock* lock() final { return &core_->lock(); }
  bool look(Task*& woken) final {
    offered = overflow_.mode == ChannelMode::drop_old ? core_->offer_over_oldest(*value_, old_, woken)
                                                      : core_->offer(*value_, woken);
    if (overflow_.mode == ChannelMode::block) return offered != Offered::full;
    // relaxed: a counter
    if (old_ || offered == Offered::full) overflow_.dropped->fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void link(Task& task) final { core_->link_sender_parking(*value_, task, this->node); }
  void unlink() final { core_->unlink_sender(this->node); }
  void claimed() final { offered = this->node.slot == nullptr ? Offered::closed : Offered::sent; }  // [CHAN-6]

  typename SelectCaseOf<Task>::About about() const final { return {"send", core_, nullptr, core_->last_receiver}; }

  void aim_at(T& value) { value_ = &value; }
  // Once it has won.
  SendStatus status() {
    old_.reset();
    return offered == Offered::sent     ? SendStatus::sent
           : offered == Offered::closed ? SendStatus::closed
                                        : SendStatus::dropped;
  }
  Offered offered = Offered::full;

 private:
  ChannelCoreOf<T, Task>* core_;
  T* value_;
  Overflow overflow_;
  std::optional<T> old_;  // made room; destroyed without the lock
};

// For scenarios and their broken twins.
struct SelectRules : ChannelRules {
  template <class Task>
  using Case = SelectCaseOf<Task>;
  template <class Task>
  using Select = SelectOf<Task>;
  template <class T, class Task>
  using Recv = RecvCaseOf<T, Task>;
  template <class T, class Task>
  using Send = SendCaseOf<T, Task>;
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: a channel without its verbs: buffer, parked senders and receivers, and what close does to them. Every decision
// falls under the one lock.
//
//   send   closed? -> fails          recv   buffer?  -> its oldest; the oldest parked sender's value moves up
//          a receiver waits? -> his         drain list?
//          room? -> buffer                  a parked sender? -> his
//          else parks                       closed? -> ends
//                                           else parks
//   open --close()--> closed: parked senders' values are in the drain list, each was told `sent`
//    |                  |
//    +-- close_recv() --+--> refused: nothing is left, parked senders were told `closed` and keep their values
//
// Invariants
//   [CHAN-1] A value is admitted at one point, under the lock while open: handed to a receiver, put into the buffer, or
//            published by a sender that parks. Admitted: received once, or given back by close_recv(), or still the
//            sender's, if his wait ended without a claim. Not admitted: never moved from.
//   [CHAN-2] Values come out in the order of admission: buffer, then drain list, then parked senders.
//   [CHAN-3] Closed is written and decided upon under the lock only; outside it is advice. Nobody parks once it is set.
//   [CHAN-4] The drain list has its memory before the flip. Without memory the senders stay parked and are drained in
//            place, in their order; so the drain list and parked senders of a closed channel are never both there.
//   [CHAN-5] To move a parked sender's value is a claim; a lost claim means the next [LIST-4].
//   [CHAN-6] Who was told by a claim that the channel is closed finds `slot` null in his node.
// Threads: any. T's nothrow move is the only code of others that runs under the lock.
// Rejected: a lock-free ring (slower wherever both ends share a core, and close would have to fence it off); the closed
// flag outside the lock (a value may be admitted after its receivers have left); waking parked senders with `closed`
// when their values are taken (each is then both received and failed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "weft/channel_status.hpp"
#include "weft/detail/point.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0::detail {

// What a channel does with a value for which there is no room. `dropped`: only where it does not wait.
struct Overflow {
  ChannelMode mode = ChannelMode::block;
  seam::Atomic<std::uint64_t>* dropped = nullptr;  // a counter
};

enum class [[nodiscard]] Offered : std::uint8_t { sent, full, closed };
enum class [[nodiscard]] Got : std::uint8_t { value, empty, closed };

// Values one after the other in memory of their own. Not thread-safe.
template <class T>
class ValueRing {
 public:
  ValueRing() = default;
  explicit ValueRing(std::uint32_t capacity)
      : slots_(capacity > 0 ? std::allocator<T>().allocate(capacity) : nullptr), capacity_(capacity) {}
  // Takes memory that somebody else has got.
  ValueRing(T* slots, std::uint32_t capacity) : slots_(slots), capacity_(capacity) {}
  ValueRing(ValueRing&& other) noexcept { *this = std::move(other); }
  ValueRing& operator=(ValueRing&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    const std::uint32_t count = count_;
    count_ = std::uint32_t{other.count_};
    other.count_ = count;
    return *this;
  }
  ~ValueRing() {
    while (size() > 0) drop();
    if (slots_ != nullptr) std::allocator<T>().deallocate(slots_, capacity_);
  }

  std::uint32_t size() const { return count_; }
  std::uint32_t capacity() const { return capacity_; }
  bool full() const { return count_ == capacity_; }
  T& front() { return slots_[head_]; }
  void push(T&& value) {
    const std::uint32_t count = count_;
    std::uint32_t at = head_ + count;
    if (at >= capacity_) at -= capacity_;
    std::construct_at(slots_ + at, std::move(value));
    count_ = count + 1;
  }
  void drop() {
    std::destroy_at(slots_ + head_);
    if (++head_ == capacity_) head_ = 0;
    count_ = count_ - 1;
  }

 private:
  T* slots_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  seam::Guessed<std::uint32_t> count_ = 0;
};

template <class T, class Task>
class ChannelCoreOf {
 public:
  using Node = WaitNodeOf<Task>;
  using List = WaitListOf<Task>;
  using Claimed = ClaimedOf<Task>;
  struct Sending {
    Offered offered = Offered::full;
    Task* woken = nullptr;
  };
  struct Taking {
    Got got = Got::empty;
    Task* woken = nullptr;
  };

  explicit ChannelCoreOf(std::uint32_t capacity) : buffer_(capacity) {}
  ChannelCoreOf(const ChannelCoreOf&) = delete;
  ChannelCoreOf& operator=(const ChannelCoreOf&) = delete;
  ~ChannelCoreOf() {
    WEFT_DEBUG(receivers_.empty() && senders_.empty(), "a channel is destroyed while somebody waits");
  }

  // Who used each side last, for deadlock reports: a hint, written in debug builds only.
  seam::Guessed<const Task*> last_sender = nullptr;
  seam::Guessed<const Task*> last_receiver = nullptr;

  // --- Advice without the lock; under it, what offer() and take() would find out.
  bool looks_receivable() const { return buffer_.size() != 0 || !senders_.empty() || is_closed(); }
  bool looks_sendable() const { return !receivers_.empty() || !buffer_.full() || is_closed(); }
  bool is_closed() const { return closed_; }
  std::uint32_t size() const { return buffer_.size(); }
  std::uint32_t capacity() const { return buffer_.capacity(); }

  // Counts operations that might go on without ever waiting; each 64th is to let others run.
  bool turn_due() {
    const std::uint32_t turn = turns_ + 1;
    turns_ = turn;
    return (turn & turn_mask) == 0;
  }

  // --- One look. `woken` is to be delivered afterwards.
  Offered try_send(T& value, Task*& woken) {
    lock_.lock();
    const Offered offered = offer(value, woken);
    lock_.unlock();
    return offered;
  }
  Got try_recv(std::optional<T>& into, Task*& woken) {
    lock_.lock();
    const Got taken = take(into, woken);
    lock_.unlock();
    return taken;
  }

  // --- One look. Full or empty: the lock is held still, for who parks.
  [[gnu::always_inline]] Offered send_or_hold(T& value, Task*& woken) {
    lock_.lock();
    const Offered offered = offer(value, woken);
    if (offered != Offered::full) lock_.unlock();
    return offered;
  }
  [[gnu::always_inline]] Got recv_or_hold(std::optional<T>& into, Task*& woken) {
    lock_.lock();
    const Got taken = take(into, woken);
    if (taken != Got::empty) lock_.unlock();
    return taken;
  }
  [[gnu::always_inline]] Sending send_or_hold(T& value) {
    Sending done;
    done.offered = send_or_hold(value, done.woken);
    return done;
  }
  [[gnu::always_inline]] Taking recv_or_hold(std::optional<T>& into) {
    Taking done;
    done.got = recv_or_hold(into, done.woken);
    return done;
  }
  // --- One look, else the task is PARKING and its node is linked.
  Offered send_or_park(T& value, Task& task, Node& node, Task*& woken) {
    const Offered offered = send_or_hold(value, woken);
    // [LP sender published, W-053] under the lock while open
    if (offered == Offered::full) link_and_unlock(senders_, &value, task, node);
    return offered;
  }
  Got recv_or_park(std::optional<T>& into, Task& task, Node& node, Task*& woken) {
    const Got taken = recv_or_hold(into, woken);
    // [LP receiver published, W-058] under the lock while open
    if (taken == Got::empty) link_and_unlock(receivers_, &into, task, node);
    return taken;
  }
  void withdraw_sender(Node& node) {
    const std::lock_guard guard(lock_);
    senders_.remove(node);
  }
  void withdraw_receiver(Node& node) {
    const std::lock_guard guard(lock_);
    receivers_.remove(node);
  }

  // --- Several under one lock. Returns how many values were admitted or taken.
  std::size_t offer_many(T* values, std::size_t count, bool& closed, Claimed& woken) {
    const std::lock_guard guard(lock_);
    closed = closed_;
    std::size_t sent = 0;
    while (!closed && sent < count) {
      if (Node* receiver = receivers_.claim_first(WakeReason::data)) {
        hand_over(values[sent], *receiver);
        woken.add(receiver);
      } else if (!buffer_.full()) {
        buffer_.push(std::move(values[sent]));
      } else {
        break;
      }
      ++sent;
    }
    return sent;
  }
  // put(T&&) for each; it must neither throw nor wait.
  template <class Put>
  std::size_t take_many(std::size_t most, Put&& put, bool& closed, Claimed& woken) {
    const std::lock_guard guard(lock_);
    std::size_t taken = 0;
    while (taken < most) {
      if (buffer_.size() != 0) {
        put(std::move(buffer_.front()));
        buffer_.drop();
      } else if (drain_.size() != 0) {
        put(std::move(drain_.front()));
        drain_.drop();
      } else if (Node* sender = senders_.claim_first(WakeReason::data)) {
        put(std::move(*static_cast<T*>(sender->slot)));
        woken.add(sender);
      } else {
        break;
      }
      ++taken;
    }
    while (!buffer_.full()) {
      Node* sender = senders_.claim_first(WakeReason::data);
      if (sender == nullptr) break;
      buffer_.push(std::move(*static_cast<T*>(sender->slot)));
      woken.add(sender);
    }
    closed = closed_;
    return taken;
  }

  // --- The oldest makes room. `old` gets it, to be destroyed after the lock.
  Offered send_over_oldest(T& value, std::optional<T>& old, Task*& woken) {
    const std::lock_guard guard(lock_);
    return offer_over_oldest(value, old, woken);
  }
  // Under the lock.
  Offered offer_over_oldest(T& value, std::optional<T>& old, Task*& woken) {
    const Offered offered = offer(value, woken);
    if (offered != Offered::full || buffer_.capacity() == 0) return offered;
    old.emplace(std::move(buffer_.front()));
    buffer_.drop();
    buffer_.push(std::move(value));
    return Offered::sent;
  }

  // --- The senders' end. get(count) is memory for so many values, or null. False: it was closed before.
  template <class Get>
  bool close(std::string& reason, Get&& get, Claimed& woken) {
    ValueRing<T> room;
    bool drains = false;
    for (int attempt = 0;; ++attempt) {
      lock_.lock();
      if (closed_) {
        lock_.unlock();
        return false;
      }
      const std::size_t parked = senders_.count();
      drains = parked != 0 && parked <= room.capacity();
      // Without memory, or if they come faster than it, they are drained in place [CHAN-4].
      if (parked == 0 || drains || attempt == 3) break;
      lock_.unlock();
      room = ValueRing<T>();
      const std::size_t wish = attempt == 0 ? parked : parked * 2;
      if (T* slots = get(wish)) {
        room = ValueRing<T>(slots, static_cast<std::uint32_t>(wish));
      } else {
        attempt = 2;
      }
    }
    // [LP closed, W-059, W-117] under the lock, whose unlocking releases it: whoever decides upon it locks, too
    closed_ = true;
    reason_ = std::move(reason);
    if (drains) {
      drain_ = std::move(room);
      while (Node* sender = senders_.claim_first(WakeReason::data)) {
        drain_.push(std::move(*static_cast<T*>(sender->slot)));
        woken.add(sender);
      }
    }
    turn_away(receivers_, woken);
    lock_.unlock();
    return true;
  }

  // --- The receivers' end: keep(T&&) gets what lay in buffer and drain list; reserve(count) makes room for it before,
  // and may throw. False: it was called before.
  template <class Reserve, class Keep>
  bool close_recv(std::string& reason, Reserve&& reserve, Keep&& keep, Claimed& woken) {
    std::size_t room = 0;
    for (;;) {
      lock_.lock();
      const std::size_t present = buffer_.size() + drain_.size();
      if (present <= room || refused_) break;
      lock_.unlock();
      reserve(present);
      room = present;
    }
    if (refused_) {
      lock_.unlock();
      return false;
    }
    if (!closed_) reason_ = std::move(reason);  // the first one stays
    // [LP receivers' end closed] as close()
    closed_ = true;
    refused_ = true;
    for (ValueRing<T>* ring : {&buffer_, &drain_})
      for (; ring->size() != 0; ring->drop()) keep(std::move(ring->front()));
    turn_away(senders_, woken);
    turn_away(receivers_, woken);
    lock_.unlock();
    return true;
  }

  std::string reason() {
    // Written once, before closed_; copying allocates, which is not done under the lock.
    lock_.lock();
    const bool closed = closed_;
    lock_.unlock();
    return closed ? reason_ : std::string();
  }

  struct Waiting {
    std::size_t senders = 0;
    std::size_t receivers = 0;
  };
  Waiting waiting() {
    const std::lock_guard guard(lock_);
    return {senders_.count(), receivers_.count()};
  }

  // By who destroys it: what nobody has received.
  std::uint32_t undelivered() const { return buffer_.size() + drain_.size(); }

  // --- For who parks under the lock, and for select, which holds several at once.
  seam::SpinLock& lock() { return lock_; }
  List& senders() { return senders_; }
  List& receivers() { return receivers_; }

  // Out of line, and by value: what goes through memory is a store to forward in each message.
  [[gnu::noinline]] Sending offer(T& value) {
    Sending done;
    done.offered = admit(value, done.woken);
    return done;
  }
  Offered offer(T& value, Task*& woken) {
    const Sending done = offer(value);
    woken = done.woken;
    return done.offered;
  }
  [[gnu::noinline]] Taking take(std::optional<T>& into) {
    Taking done;
    done.got = fetch(into, done.woken);
    return done;
  }
  Got take(std::optional<T>& into, Task*& woken) {
    const Taking done = take(into);
    woken = done.woken;
    return done.got;
  }

  // For select, whose task is PARKING already.
  void link_sender_parking(T& value, Task& task, Node& node) {
    node.task = &task;
    node.slot = &value;
    senders_.push(node);
  }
  void link_receiver_parking(std::optional<T>& into, Task& task, Node& node) {
    node.task = &task;
    node.slot = &into;
    receivers_.push(node);
  }
  void unlink_sender(Node& node) { senders_.remove(node); }
  void unlink_receiver(Node& node) { receivers_.remove(node); }

 private:
  [[gnu::always_inline]] Offered admit(T& value, Task*& woken) {
    if (closed_) [[unlikely]]
      return Offered::closed;
    if (!receivers_.empty()) {
      if (Node* receiver = receivers_.claim_first(WakeReason::data)) {
        // [LP sent by hand-over, W-051] the receiver is claimed while open, under the lock
        hand_over(value, *receiver);
        woken = receiver->task;
        return Offered::sent;
      }
    }
    if (buffer_.full()) return Offered::full;
    // [LP sent into the buffer, W-052] under the lock while open
    buffer_.push(std::move(value));
    return Offered::sent;
  }

  [[gnu::always_inline]] Got fetch(std::optional<T>& into, Task*& woken) {
    if (buffer_.size() != 0) [[likely]] {
      // [LP received from the buffer, W-056] under the lock
      into.emplace(std::move(buffer_.front()));
      buffer_.drop();
      if (!senders_.empty()) {
        if (Node* sender = senders_.claim_first(WakeReason::data)) {
          buffer_.push(std::move(*static_cast<T*>(sender->slot)));
          woken = sender->task;
        }
      }
      return Got::value;
    }
    if (drain_.size() != 0) {
      into.emplace(std::move(drain_.front()));
      drain_.drop();
      return Got::value;
    }
    if (Node* sender = senders_.claim_first(WakeReason::data)) {
      // [LP received by hand-over, W-057] the sender is claimed under the lock, closed or not
      into.emplace(std::move(*static_cast<T*>(sender->slot)));
      woken = sender->task;
      return Got::value;
    }
    return closed_ ? Got::closed : Got::empty;
  }

  void link_and_unlock(List& list, void* slot, Task& task, Node& node) {
    node.slot = slot;
    list.park(node, task);
    lock_.unlock();
  }
  static void hand_over(T& value, Node& receiver) {
    static_cast<std::optional<T>*>(receiver.slot)->emplace(std::move(value));
  }
  static void turn_away(List& list, Claimed& woken) {
    while (Node* node = list.claim_first(WakeReason::closed)) {
      node->slot = nullptr;  // [CHAN-6]
      woken.add(node);
    }
  }

  // Guarded by lock_; what looks_* read is advice there.
  seam::SpinLock lock_;
  seam::Guessed<bool> closed_ = false;
  bool refused_ = false;                    // the receivers' end is closed
  seam::Guessed<std::uint32_t> turns_ = 0;  // a hint
  ValueRing<T> buffer_;
  List receivers_;
  List senders_;
  ValueRing<T> drain_;  // of close()
  std::string reason_;  // written with closed_, then constant
};

// For scenarios and their broken twins.
struct ChannelRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Offer = Offered;
  using Take = Got;
  template <class Task>
  using Node = WaitNodeOf<Task>;
  template <class Task>
  using Claims = ClaimedOf<Task>;
  template <class T, class Task>
  using Core = ChannelCoreOf<T, Task>;
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
//
// What: the work-stealing deque of Chase and Lev (in the form of Le, Pop, Cohen and Zappa Nardelli, 2013). The owner
// pushes and pops at the young end; thieves, and the owner when it wants to be fair, take the oldest.
//
//        top_ (only grows, by CAS)              bottom_ (owner)
//          v                                      v
//    ... [ oldest ][ ... ][ ... ][ ... ][ newest ](next push)     slot = index modulo the buffer's size
//
// Invariants:
//   [DEQ-1] Each entry is taken once. An index below bottom_ - 1 is safe for the owner without CAS only because the
//           owner's "lower bottom_, fence, read top_" and the thief's "read top_, fence, read bottom_" cannot both miss
//           each other. The last one is settled by the CAS on top_.
//   [DEQ-2] A thief reads the slot before its CAS and keeps the value only if the CAS succeeds: had the slot been
//           overwritten, top_ would have passed its index.
//   [DEQ-3] A thief reads top_, then bottom_, then the buffer. The other way round it could look for a young index in a
//           buffer from before the growth.
//   [DEQ-4] Buffers only get replaced by larger ones, and old ones live as long as the deque: a slow thief may read
//           them. All old ones together are smaller than the present one.
//   [DEQ-5] The owner's fence is free while nobody steals. A thief counts itself in, then runs one heavy fence: a pop
//           that did not see the count has lowered bottom_ in everybody's eyes before the thief looks at it, and every
//           later one sees the count and fences for itself. So one heavy fence serves a whole batch, which is taken
//           entry by entry, each with a plain fence and a CAS. It may not run on with the bottom_ that it saw at the
//           start: the owner pops without CAS whatever is above the top_ it saw.
//   [DEQ-6] The last entry needs the CAS only against thieves that are counted in; the owner looks for them before it
//           looks at top_, which one that has just left may have moved. So fork and join on a deque of one costs no
//           locked instruction.
// Threads: push, pop, take_oldest, and steal_batch on the deque that receives: the owner. steal, steal_batch on the
// victim, steal_each, size: any.
// Rejected: one CAS that moves top_ by n: takes entries twice, see [DEQ-5]. A lock bit in top_ during a batch: the
// owner would have to wait for a thief that was preempted. A version in top_ that the owner raises near the end of its
// deque: a CAS on the fork-join path, which mostly works on deques of one or two.
// Relaxed: the owner reads its own bottom_ and buffer_; slots are published by bottom_; sizes are estimates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/entry.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class Deque {
 public:
  enum class Theft : std::uint8_t {
    empty,  // nothing there
    lost,   // somebody else took that entry: look again, or elsewhere
    taken,
  };
  struct Stolen {
    Theft outcome = Theft::empty;
    Entry entry;            // the oldest, if taken
    std::size_t moved = 0;  // further entries, now in the receiving deque
  };

  // The capacity is rounded up to a power of two, at least 2; it does not grow beyond largest_capacity. first_index is
  // for tests of the counters' wraparound.
  explicit Deque(std::size_t capacity = 256, std::uint64_t first_index = 0,
                 std::size_t largest_capacity = std::numeric_limits<std::size_t>::max())
      : top_(first_index), bottom_(first_index), buffer_(nullptr), largest_capacity_(largest_capacity) {
    newest_buffer_ = Buffer::make(std::bit_ceil(std::max<std::size_t>(capacity, 2)));
    if (!newest_buffer_) throw std::bad_alloc();
    // relaxed: whoever hands the deque to other threads publishes it.
    buffer_.store(newest_buffer_.get(), std::memory_order_relaxed);
    full_at_ = first_index + newest_buffer_->capacity();
  }
  Deque(const Deque&) = delete;
  Deque& operator=(const Deque&) = delete;

  // False: full, and no larger buffer to be had; nothing has changed.
  [[nodiscard]] bool push(Entry entry) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    Buffer* buffer = buffer_.load(std::memory_order_relaxed);              // own value
    if (bottom == full_at_) [[unlikely]] {
      buffer = make_room(bottom);
      if (buffer == nullptr) return false;
    }
    buffer->put(bottom, entry);
    // release: slot, item and buffer_, for the thief's acquire of bottom_ [DEQ-3].
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }

  // The newest.
  [[gnu::always_inline]] Entry pop() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    // An old top_ only makes the deque look longer than it is, so empty is true; no fence while polling.
    if (distance(top_.load(std::memory_order_relaxed), bottom) <= 0) return {};
    Buffer* buffer = buffer_.load(std::memory_order_relaxed);  // own value
    return take_newest(bottom) ? buffer->get(bottom - 1) : Entry();
  }

  // The newest of at most `most`, which is read only if there is one; of more what longer() takes. Else as pop().
  template <class F>
  [[gnu::always_inline]] Entry pop_of(const std::size_t& most, F&& longer) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    const std::int64_t length = distance(top_.load(std::memory_order_relaxed), bottom);
    if (length <= 0) return {};
    if (static_cast<std::size_t>(length) > most) [[unlikely]]
      return longer();
    Buffer* buffer = buffer_.load(std::memory_order_relaxed);  // own value
    return take_newest(bottom) ? buffer->get(bottom - 1) : Entry();
  }

  // The newest if it is this one; else nothing changes.
  [[gnu::always_inline]] [[nodiscard]] bool take_back(Entry wanted) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    return is_newest(wanted, bottom) && take_newest(bottom);
  }
  // The same for who knows that fences are asymmetric, and can go another way: gives up while somebody steals.
  [[gnu::always_inline]] [[nodiscard]] bool take_back_alone(Entry wanted) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    return is_newest(wanted, bottom) && take_newest_alone(bottom);
  }
  // The newest, whichever it is, by the same.
  [[gnu::always_inline]] [[nodiscard]] Entry pop_alone() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    return take_newest_alone(bottom) ? buffer_.load(std::memory_order_relaxed)->get(bottom - 1) : Entry();
  }

  // The oldest, for the owner. Empty only if the deque is: a lost race means that a thief made it shorter.
  Entry take_oldest() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value, and no pop of ours is under way
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    Buffer* buffer = buffer_.load(std::memory_order_relaxed);
    while (distance(top, bottom) > 0) {
      // Own slots: nobody else writes them, so it may be read early and thrown away.
      const Entry entry = buffer->get(top);
      if (top_.compare_exchange_weak(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) return entry;
    }
    return {};
  }

  [[nodiscard]] Stolen steal() noexcept {
    const std::uint64_t top = top_.load(std::memory_order_relaxed);
    // The fence may be a costly one, so only after a look that something is there.
    if (distance(top, bottom_.load(std::memory_order_relaxed)) <= 0) return {};
    enter();
    const Stolen stolen = steal_at();
    leave();
    return stolen;
  }

  // Up to limit entries, at most half (rounded up) of what is there: the oldest is returned, the others go to into, in
  // their order, where they can be stolen again. into is the calling worker's own deque.
  [[nodiscard]] Stolen steal_batch(Deque& into, std::size_t limit) noexcept {
    const std::size_t wanted = std::min(limit, (size() + 1) / 2);
    if (wanted == 0 || &into == this) return {};
    enter();
    Stolen stolen = steal_at();
    while (stolen.outcome == Theft::taken && 1 + stolen.moved < wanted) {
      // Room first: an entry that has been taken must have a place.
      if (!into.reserve_one()) break;
      const Stolen next = steal_at();
      if (next.outcome != Theft::taken) break;  // drained, or contended: enough for now
      (void)into.push(next.entry);              // cannot fail, there is room
      ++stolen.moved;
    }
    leave();
    return stolen;
  }

  // Up to limit entries, the oldest first, for whoever has no deque: take(Entry) gets each. Returns how many.
  template <class F>
  std::size_t steal_each(std::size_t limit, F&& take) noexcept {
    if (size() == 0) return 0;
    std::size_t taken = 0;
    enter();
    while (taken < limit) {
      const Stolen stolen = steal_at();
      if (stolen.outcome == Theft::empty) break;
      if (stolen.outcome != Theft::taken) continue;
      take(stolen.entry);
      ++taken;
    }
    leave();
    return taken;
  }

  // An estimate for everybody but an owner without thieves.
  std::size_t size() const noexcept {
    const std::uint64_t top = top_.load(std::memory_order_relaxed);
    const std::int64_t length = distance(top, bottom_.load(std::memory_order_relaxed));
    return length > 0 ? static_cast<std::size_t>(length) : 0;
  }
  // Owner: where the oldest stands, a smaller index than its own while somebody steals, and where the next one will.
  std::uint64_t oldest_index() const noexcept { return top_.load(std::memory_order_relaxed); }
  std::uint64_t next_index() const noexcept { return bottom_.load(std::memory_order_relaxed); }
  // Owner.
  std::size_t capacity() const noexcept { return newest_buffer_->capacity(); }

 private:
  // One block: this header, then the slots; so a slot is one load away from buffer_.
  class Buffer {
   public:
    struct Free {
      void operator()(Buffer* buffer) const {
        std::destroy_n(buffer->slots(), buffer->capacity());
        buffer->~Buffer();
        ::operator delete(buffer);
      }
    };
    using Owner = std::unique_ptr<Buffer, Free>;

    static Owner make(std::size_t capacity) noexcept {
      void* block = ::operator new(sizeof(Buffer) + capacity * sizeof(Slot), std::nothrow);
      if (block == nullptr) return nullptr;
      Owner buffer(new (block) Buffer(capacity));
      std::uninitialized_value_construct_n(buffer->slots(), capacity);
      return buffer;
    }
    std::size_t capacity() const { return mask_ + 1; }
    // relaxed: bottom_ and buffer_ publish the slots.
    [[gnu::always_inline]] void put(std::uint64_t index, Entry entry) {
      slots()[index & mask_].store(entry.word(), std::memory_order_relaxed);
    }
    [[gnu::always_inline]] Entry get(std::uint64_t index) {
      return Entry::from_word(slots()[index & mask_].load(std::memory_order_relaxed));
    }

    Owner older;  // [DEQ-4]

   private:
    using Slot = seam::Atomic<std::uintptr_t>;
    explicit Buffer(std::size_t capacity) : mask_(capacity - 1) {}
    Slot* slots() {
      static_assert(alignof(Slot) <= alignof(Buffer) && alignof(Buffer) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
      return std::launder(reinterpret_cast<Slot*>(this + 1));
    }

    std::size_t mask_;
  };

  // Right across the wraparound of the counters.
  static std::int64_t distance(std::uint64_t from, std::uint64_t to) { return static_cast<std::int64_t>(to - from); }

  // A thief begins and ends [DEQ-5].
  void enter() noexcept {
    thieves_.fetch_add(1, std::memory_order_seq_cst);
    seam::heavy_fence();  // pairs with the light_fence in pop
  }
  void leave() noexcept {
    // release: its moves of top_, for the owner that finds itself alone [DEQ-6].
    thieves_.fetch_sub(1, std::memory_order_release);
  }

  // Own slots. One that was stolen stands there still, until its slot is used again; who takes it looks at top_.
  [[gnu::always_inline]] bool is_newest(Entry wanted, std::uint64_t bottom) noexcept {
    return buffer_.load(std::memory_order_relaxed)->get(bottom - 1) == wanted;
  }
  // The entry below bottom is the owner's, and bottom_ is below it; or a thief has it, and nothing has changed.
  [[gnu::always_inline]] bool take_newest(std::uint64_t bottom) noexcept {
    // release, here and below: a thief that reads bottom_ from one of these stores must see the earlier pushes too.
    bottom_.store(bottom - 1, std::memory_order_release);
    seam::light_fence();  // before the look for thieves [DEQ-5], pairs with the heavy fence in enter
    // acquire, and before top_: who has counted itself out has moved top_ before.
    if (thieves_.load(std::memory_order_acquire) != 0) [[unlikely]]
      return take_from_thieves(bottom);
    // The last one too: whoever begins to steal now sees bottom_ as it is, and that the deque is empty [DEQ-6].
    if (top_.load(std::memory_order_relaxed) != bottom) [[likely]]
      return true;
    bottom_.store(bottom, std::memory_order_release);
    return false;
  }
  [[gnu::always_inline]] bool take_newest_alone(std::uint64_t bottom) noexcept {
    bottom_.store(bottom - 1, std::memory_order_release);
    seam::free_light_fence();  // as in take_newest
    if (thieves_.load(std::memory_order_acquire) == 0 && top_.load(std::memory_order_relaxed) != bottom) [[likely]]
      return true;
    bottom_.store(bottom, std::memory_order_release);
    return false;
  }
  [[gnu::noinline]] bool take_from_thieves(std::uint64_t bottom) noexcept {
    seam::fence(std::memory_order_seq_cst);  // [DEQ-1], pairs with the fence in steal_at
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    const std::int64_t left = distance(top, bottom);
    if (left > 1) return true;
    // seq_cst: one total order with the thieves' CAS and the fences; the loser leaves the entry alone [DEQ-1].
    const bool mine =
        left == 1 && top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    bottom_.store(bottom, std::memory_order_release);
    return mine;
  }

  // Between enter and leave.
  Stolen steal_at() noexcept {
    // acquire: [DEQ-3], and pairs with the CAS that brought top_ here.
    std::uint64_t top = top_.load(std::memory_order_acquire);
    seam::fence(std::memory_order_seq_cst);  // [DEQ-1], pairs with the fence in pop (x86 would do without, ARM not)
    // acquire: pairs with the owner's release stores of bottom_; slot, item and buffer are visible.
    if (distance(top, bottom_.load(std::memory_order_acquire)) <= 0) return {};
    // acquire: pairs with the release in grow: the copied slots.
    Buffer* buffer = buffer_.load(std::memory_order_acquire);
    const Entry entry = buffer->get(top);
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
      return {Theft::lost, {}, 0};
    }
    return {Theft::taken, entry, 0};
  }

  bool reserve_one() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own value
    return bottom != full_at_ || make_room(bottom) != nullptr;
  }

  // Looks at top_ again, and grows if that has not moved. Null: full. Out of line, so that push stays small.
  [[gnu::noinline]] Buffer* make_room(std::uint64_t bottom) noexcept {
    // acquire: pairs with the thieves' CAS, so that a slot is reused only after its reader is through with it [DEQ-2].
    const std::uint64_t top = top_.load(std::memory_order_acquire);
    Buffer* buffer = newest_buffer_.get();
    if (distance(top, bottom) >= static_cast<std::int64_t>(capacity())) buffer = grow(top, bottom);
    if (buffer != nullptr) full_at_ = top + capacity();
    return buffer;
  }

  Buffer* grow(std::uint64_t top, std::uint64_t bottom) noexcept {
    if (capacity() >= largest_capacity_) return nullptr;
    Buffer::Owner larger = Buffer::make(2 * capacity());
    if (!larger) return nullptr;
    for (std::uint64_t index = top; index != bottom; ++index) larger->put(index, newest_buffer_->get(index));
    larger->older = std::move(newest_buffer_);
    newest_buffer_ = std::move(larger);
    // release: the copied slots, for thieves that come without a new bottom_ [DEQ-3].
    buffer_.store(newest_buffer_.get(), std::memory_order_release);
    return newest_buffer_.get();
  }

  alignas(cache_line) seam::Atomic<std::uint64_t> top_;     // everybody, by CAS
  seam::Atomic<std::uint32_t> thieves_{0};                  // that are between enter and leave
  alignas(cache_line) seam::Atomic<std::uint64_t> bottom_;  // written by the owner
  seam::Atomic<Buffer*> buffer_;                            // written by the owner, rarely
  std::uint64_t full_at_;        // owner only: bottom_ when the slots are used up, as it knew
  Buffer::Owner newest_buffer_;  // owner only; the same buffer, and who frees it
  const std::size_t largest_capacity_;
};

}  // namespace weft::inline v0::detail

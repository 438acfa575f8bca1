// SPDX-License-Identifier: MIT
// What: how many children live, and which wait of their joiner the last one ends, in one word.
//
//   63            32 31            1   0
//   | count:32      | ticket:31     | 1 |      low half 0: nobody waits
//
// The count is signed and biased: the joiner counts its own spawns and in-place ends plainly, outside this word, and
// adds that number when it waits. Until then the count may be negative, and 0 means nothing.
//
//   joiner                                             child that ran elsewhere, its last actions
//   if (word.none_left(plain)) leave                   owner = joiner's record      (before the RMW)
//   ticket = task.begin_park()                         encoded = word.finish_one()
//   if (word.wait(plain, ticket)) { stay; leave }      if (encoded != 0) wake the owner if its ticket matches
//   plain = 0; park
//   woken, for whatever reason:
//     if (word.count() == 0) leave
//     ticket = task.begin_park()
//     if (word.again(ticket)) { stay; leave }
//     park
//
// Invariants
//   [CNT-1] Count and ticket change together: a decrement that reaches zero returns the ticket of that very moment, and
//           the child needs no second look at a word that its joiner may have freed.
//   [CNT-2] Only the count lets the joiner go, never the reason of a wake. Each further wait puts its new ticket in:
//           with the old one the last child would wake a wait that is over, and nobody the present one.
//   [CNT-3] A spawn counts before it pushes; who destroys an unstarted child counts it down. So the count does not pass
//           zero while a child lives, once the joiner has added its part.
//   [CNT-4] What children wrote is visible to the joiner that finds zero (release in finish_one; the adds between are
//           RMWs and keep the release sequence). A child that gets a ticket sees the joiner parking with it (release
//           in wait and again, acquire in finish_one).
//   [CNT-5] Only the joiner writes the low half. A ticket may stay there when the joiner has left, for the next round:
//           no wake with it finds a wait.
// Threads: wait, again, none_left: the joiner. add, finish_one: anybody who holds a living child. count: any.
// Rejected: a waiter bit here and the ticket beside it. Woken by a cancel while the last child runs, the joiner can
// neither stay (the child's wake goes to the old ticket) nor leave (the child has yet to read the new one).
// Limit: 31 bits of the ticket. A child that sleeps between its RMW and its wake for exactly 2^31 waits of the joiner
// ends one of them for nothing; waits allow that.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

class CountWord {
 public:
  CountWord() = default;
  CountWord(const CountWord&) = delete;
  CountWord& operator=(const CountWord&) = delete;

  // Spawns by others than the joiner, before the push [CNT-3]. Relaxed: the spawner's own child keeps the count up.
  void add(std::int32_t n) { word_.fetch_add(in_high_half(n), std::memory_order_relaxed); }

  // One child less. Not 0: this was the last, and the joiner waits with this encoded ticket. Whatever it returns, the
  // object may be gone [CNT-1].
  [[nodiscard]] std::uint32_t finish_one() {
    const std::uint64_t old = word_.fetch_sub(one, std::memory_order_acq_rel);
    return count_of(old) == 1 ? low_half(old) : 0;
  }

  // The joiner, parking with this ticket, makes its plain count known. True: none are left, it must not park.
  [[nodiscard]] bool wait(std::int32_t plain, Ticket ticket) { return put(plain, ticket); }

  // The joiner after a wake, parking once more with this ticket [CNT-2]. True: none are left, it must not park.
  [[nodiscard]] bool again(Ticket ticket) { return count() == 0 || put(0, ticket); }

  std::int32_t count() const { return count_of(word_.load(std::memory_order_acquire)); }
  // The joiner's look without an RMW: with what it counted plainly, nothing is left.
  bool none_left(std::int32_t plain) const { return count() + plain == 0; }

  static bool matches(std::uint32_t encoded, Ticket ticket) { return encoded == encode(ticket); }

 private:
  static constexpr unsigned count_shift = 32;
  static constexpr std::uint64_t one = std::uint64_t{1} << count_shift;

  static constexpr std::uint32_t encode(Ticket ticket) { return static_cast<std::uint32_t>(ticket.number << 1 | 1); }
  static constexpr std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static constexpr std::int32_t count_of(std::uint64_t word) { return static_cast<std::int32_t>(word >> count_shift); }
  static constexpr std::uint64_t in_high_half(std::int32_t n) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(n)) << count_shift;
  }

  // One RMW: adds to the count and sets the ticket. True: the count is zero now.
  bool put(std::int32_t plain, Ticket ticket) {
    const std::uint32_t old_ticket = low_half(word_.load(std::memory_order_relaxed));  // [CNT-5]: nobody else writes it
    const std::uint64_t change = in_high_half(plain) + encode(ticket) - old_ticket;
    return count_of(word_.fetch_add(change, std::memory_order_acq_rel) + change) == 0;
  }

  seam::Atomic<std::uint64_t> word_{0};
};

}  // namespace weft::inline v0::detail

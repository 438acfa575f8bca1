// SPDX-License-Identifier: MIT
// What: which end of its deque a worker takes from: the young one, for depth-first memory, unless the old one has
// waited too long. Nobody reads a clock for that: full looks do, and note how far the deque reached.
//
//     [ oldest ][ ... ][ ... ][ ... ][ newest ]      a full look: at this time it reached that far
//                             ^ end_                 another, over 1 ms later: what stands before end_ is old
//
// Invariants
//   [AGE-1] Of a deque longer than `crowd`, and of one in which something is known to be older than old_ns, dispatches
//           take `run` entries from the old end, `run` from the young one, and so on: the one at place k begins before
//           2k + 2 run are taken.
//   [AGE-2] What a full look noted is old at one over old_ns later; what has come since is noted when that is gone.
//   [AGE-3] The oldest that forks is the root of a tree: the next `depth` picks go to the young end, else half of a
//           tree would be opened breadth first. Full looks take the oldest all the same.
//   [AGE-4] Who joins in place takes what it waits for, whatever its age.
// An entry may be taken for older than it is: the deque has become shorter than end_ and longer again between two full
// looks. Then as many as it reached over at the former are taken out of order, at most once in old_ns.
// Threads: the worker's own.
// Rejected: every second one from the old end. What is taken together ends together, and its record and its stack are
// used again in that order: a million tasks were spread over memory one by one, and the next million took 1060 ns each
// to start and to park where the first took 690 (700 by runs, and 950 after sixteen rounds).
// A time in each entry (a clock read for each spawn, and an entry is one word). "The oldest index has not
// moved": it does not where the owner pops everything [DEQ-6], so whatever forks and joins would look old. [AGE-1]
// without [AGE-3]: a tree of 10^5 leaves on one worker, each node on a stack of its own, would have 6,000 of its nodes
// open at once (by a model that gives 450 with it, where 442 were counted).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/deque.hpp"

namespace weft::inline v0::detail {

class DequeAge {
 public:
  static constexpr std::size_t crowd = 256;
  static constexpr std::int64_t old_ns = 1'000'000;
  static constexpr std::uint64_t depth = 128;  // two full looks
  static constexpr unsigned run = 64;

  // Of a longer deque take() takes.
  const std::size_t& patience() const { return patience_; }

  // At a full look.
  void look(const Deque& deque, std::int64_t now);
  // `pick`: a number that grows by one from each time that a task is chosen to the next.
  Entry take_oldest(Deque& deque, std::uint64_t pick);
  // The oldest and the newest, by runs.
  Entry take(Deque& deque, std::uint64_t pick);

 private:
  void forget_taken(const Deque& deque);

  std::size_t patience_ = crowd;    // 0: something is old
  bool noted_ = false;              // end_ and since_ say something
  unsigned turn_ = 0;               // below `run`: the old end's; to twice that: the young one's
  std::uint64_t end_ = 0;           // what stands before it stood there at since_
  std::int64_t since_ = 0;          // of a full look
  std::uint64_t oldest_at_ = 0;     // at which pick the oldest was taken; 0: none
  std::uint64_t reach_ = 0;         // how far the deque reached then
  std::uint64_t newest_until_ = 0;  // a pick [AGE-3]
};

}  // namespace weft::inline v0::detail

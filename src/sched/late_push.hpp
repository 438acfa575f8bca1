// SPDX-License-Identifier: MIT
// What: a push into the inbox of a worker that may end meanwhile [WKR-3].
//
//   who pushes                                   the worker, when it ends
//   push                                         state = DRAINING
//   full fence                                   heavy fence
//   state is DRAINING or DEAD: take it all back  take it all
//
// Either the worker finds the entry, or the pusher finds the state. Both may look: an inbox gives each entry once.
// A Worker has `state`, push_inbox(), inbox and inbox_size.
// Threads: push, rescue: any. end: the worker.
// Relaxed: the state is looked at behind the fence; the size is a hint.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

enum class WorkerState : std::uint8_t { unborn, active, idle_spin, sleep, draining, dead };

struct LatePush {
  enum class Then : std::uint8_t {
    nothing,  // it runs, and comes by
    notify,   // it may sleep
    rescue,   // it has ended, or does just now
  };

  template <class Worker, class Entry>
  [[nodiscard]] static Then push(Worker& worker, Entry entry) {
    worker.push_inbox(entry);
    seam::fence(std::memory_order_seq_cst);
    const WorkerState state = worker.state.load(std::memory_order_relaxed);
    if (state == WorkerState::draining || state == WorkerState::dead) return Then::rescue;
    return state == WorkerState::active ? Then::nothing : Then::notify;
  }

  // Everything that is in the inbox, to take(entry).
  template <class Worker, class F>
  static std::size_t rescue(Worker& from, F&& take) {
    if (from.inbox.empty()) return 0;
    auto taken = from.inbox.take_all();
    std::size_t moved = 0;
    while (const auto entry = taken.pop_front()) {
      take(entry);
      ++moved;
    }
    from.inbox_size.fetch_sub(static_cast<std::uint32_t>(moved), std::memory_order_relaxed);
    return moved;
  }

  // From here on nothing that is pushed is left behind, once the worker has looked as well.
  template <class Worker>
  static void end(Worker& worker) {
    worker.enter(WorkerState::draining);
    seam::heavy_fence();
  }
};

}  // namespace weft::inline v0::detail

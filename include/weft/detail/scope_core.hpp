// SPDX-License-Identifier: MIT
// What: a cancel scope: where the truth of a cancellation lies. Scopes form a tree; a task points to its innermost one.
//
//   Scope (nursery of main) <-parent- Scope (timeout in child A) <-parent- Scope (nursery in that timeout) ...
//     | tasks: children that have parked at least once       | children: scopes below that have such tasks
//
// Invariants
//   [SCP-1] Level-triggered: `requested` is set once, with the first reason, and stays until the scope ends. Every
//           suspension point walks up to the first shield; the outermost requested scope below it wins.
//   [SCP-2] A task stands in the list of the scope it was born into before it first parks, and that scope and those
//           above are linked into their parents' lists by then. request() sets the flag, runs a heavy fence, then walks
//           down under each parent's lock and wakes whom it finds; a parker stores PARKING, runs a light fence, then
//           looks at the flags. So one of the two sees the other.
//   [SCP-3] A scope ends after everything below it has; it leaves its parent's list under the parent's lock.
//   [SCP-5] A shield with a limit is none any more once it is `scope_lapsed`: set, at or after its deadline, by
//           whichever task inside comes by first. Then the epoch grows, then it is `scope_unlimited`: only from there
//           on a wait inside may outlast its deadline. So who has looked before it lapsed and parks either ends by the
//           deadline and looks again, or finds the new epoch and walks. Who has seen it lapsed and parks runs [SCP-2]'s
//           fence in between, so a request from above finds it lapsed, too, or is seen.
//   [SCP-4] `clean_epoch` equal to the process's cancel epoch means: nothing from here to the root was requested. The
//           epoch grows after each request, so an old one only costs a walk.
// Threads: requested and the lists: any, lists under `lock`. The rest: the task that opened it.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0 {

enum class CancelReason : std::uint8_t {
  none,
  user,       // somebody called cancel()
  deadline,   // its time is over
  sibling,    // a task of the same nursery failed
  shutdown,   // the runtime ends
  race_lost,  // another one was first
  deadlock,   // nothing could run any more
};
const char* to_string(CancelReason reason);

namespace detail {

struct TaskCore;

enum ScopeFlag : std::uint8_t {
  scope_shield = 1,      // requests from above stop here
  scope_nursery = 2,     // wakes its owner only by the count of its children
  scope_lazy = 4,        // a request wakes nobody
  scope_extras = 16,     // a par frame that holds bindings, or stands in an inner fiber
  scope_linked = 8,      // stands in its parent's list; guarded by the parent's lock
  scope_lapsed = 32,     // a shield whose time is over [SCP-5]
  scope_unlimited = 64,  // and whose deadline ends no wait any more
};

struct ScopeCore {
  seam::Atomic<std::uint32_t> requested{0};    // CancelReason
  seam::Atomic<std::uint32_t> clean_epoch{0};  // [SCP-4]
  ScopeCore* parent = nullptr;
  TaskCore* owner = nullptr;                // who opened it, and runs or waits inside
  std::int64_t deadline = no_limit;         // its own
  std::int64_t deadline_within = no_limit;  // none from here to the next shield is earlier; one may have lapsed [SCP-5]
  seam::Atomic<std::uint8_t> flags{0};
  std::uint8_t raised = 0;  // how often Cancelled was raised for it
  seam::SpinLock lock;
  TaskCore* tasks = nullptr;      // guarded by lock
  ScopeCore* children = nullptr;  // guarded by lock
  ScopeCore* next = nullptr;      // guarded by the parent's lock
  ScopeCore* prev = nullptr;

  static constexpr std::int64_t no_limit = seam::no_deadline;

  // relaxed: set by the opener
  bool is(ScopeFlag flag) const { return flags.load(std::memory_order_relaxed) & flag; }
  bool is_shield() const {
    return (flags.load(std::memory_order_relaxed) & (scope_shield | scope_lapsed)) == scope_shield;
  }
  // acquire and release: who sees it linked sees those above it linked, too [TREE-1]
  bool is_linked() const { return flags.load(std::memory_order_acquire) & scope_linked; }
  void set_linked() { flags.fetch_or(scope_linked, std::memory_order_release); }
};

// The process's cancel epoch [SCP-4].
extern seam::Atomic<std::uint32_t> cancel_epoch;

}  // namespace detail
}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// What: the tree of scopes as a canceller finds it: who stands in which list, and the walk down over them.
//
//   root <--- S1 <--- S2 <--- tasks X, Y          links go in when X or Y first parks: S1 into root, then S2 into S1
//
// Invariants
//   [TREE-1] A scope is linked only when all scopes above it are. So who finds its own scope linked (acquire) and
//            parks can be found from every scope above. Linked from below, a second task would see its scope linked and
//            park while the first has yet to link the scopes above, and a cancel from up there would find neither.
//   [TREE-2] The walk locks a scope inside its parent's lock, and a scope leaves under its parent's lock: what is being
//            looked at cannot go away.
//   [TREE-3] Neither the walk nor the linking recurses: scopes may be nested deeper than a stack has room for.
// Threads: any. link and its relatives: a task that lives in the scope, which therefore does not end.
#pragma once

#include <cstddef>
#include <mutex>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

struct ScopeTree {
  // This scope and all above, from the top [TREE-1].
  template <class Scope>
  static void link(Scope& scope) {
    constexpr std::size_t at_once = 32;
    while (!is_reachable(scope)) {
      // The topmost ones that are not linked; more than fit are found by another round.
      Scope* path[at_once];
      std::size_t count = 0;
      for (Scope* at = &scope; !is_reachable(*at); at = at->parent) path[count++ % at_once] = at;
      for (std::size_t i = 0; i < at_once && i < count; ++i) link_one(*path[(count - 1 - i) % at_once]);
    }
  }

  // When it ends; its parent lives.
  template <class Scope>
  static void unlink(Scope& scope) {
    if (!scope.is_linked()) return;
    const std::lock_guard guard(scope.parent->lock);
    if (scope.prev != nullptr) {
      scope.prev->next = scope.next;
    } else {
      scope.parent->children = scope.next;
    }
    if (scope.next != nullptr) scope.next->prev = scope.prev;
  }

  template <class Scope, class Task>
  static void add_task(Scope& scope, Task& task) {
    const std::lock_guard guard(scope.lock);
    task.links.scope_next = scope.tasks;
    if (scope.tasks != nullptr) scope.tasks->links.scope_prev = &task.links.scope_next;
    scope.tasks = &task;
    task.links.scope_prev = &scope.tasks;
  }
  template <class Scope, class Task>
  static void remove_task(Scope& scope, Task& task) {
    const std::lock_guard guard(scope.lock);
    *task.links.scope_prev = task.links.scope_next;
    if (task.links.scope_next != nullptr) task.links.scope_next->links.scope_prev = task.links.scope_prev;
  }

  // visit(task) for each task of this scope and of those below it that no shield keeps apart; owners are visited once
  // per scope. The caller holds top.lock. visit may not take locks, wait or throw.
  template <class Scope, class F>
  static void walk(Scope& top, F&& visit) {
    Scope* at = &top;  // its lock is held, and those of all above it up to `top`
    for (;;) {
      if (at->owner != nullptr) visit(*at->owner);
      for (auto* task = at->tasks; task != nullptr;) {
        auto* const next = task->links.scope_next;
        if (next != nullptr) {  // its word, and who comes after it, while this one is visited
          __builtin_prefetch(next, 1);
          __builtin_prefetch(&next->links, 1);
        }
        visit(*task);
        task = next;
      }
      Scope* next = first_open(at->children);
      while (next == nullptr) {
        if (at == &top) return;
        next = first_open(at->next);
        Scope* up = at->parent;
        at->lock.unlock();
        at = up;
      }
      next->lock.lock();  // [TREE-2]
      at = next;
    }
  }

 private:
  template <class Scope>
  static bool is_reachable(const Scope& scope) {
    return scope.parent == nullptr || scope.is_linked();
  }
  template <class Scope>
  static void link_one(Scope& scope) {
    const std::lock_guard guard(scope.parent->lock);
    if (scope.is_linked()) return;  // by another task meanwhile
    scope.next = scope.parent->children;
    if (scope.next != nullptr) scope.next->prev = &scope;
    scope.prev = nullptr;
    scope.parent->children = &scope;
    scope.set_linked();
  }
  template <class Scope>
  static Scope* first_open(Scope* scope) {
    while (scope != nullptr && scope->is_shield()) scope = scope->next;
    return scope;
  }
};

}  // namespace weft::inline v0::detail

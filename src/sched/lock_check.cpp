// SPDX-License-Identifier: MIT
// Relaxed: the switch is for people; the alert is set and read by the thread that runs its root.
#include "sched/lock_check.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/sys.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/lock_check.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0 {
namespace detail {

seam::Guessed<bool> locks_are_checked = false;

namespace {

struct Held {
  const void* mutex;
  Trace where;
  bool told = false;
};

struct Order {
  Trace first;   // where the one before was locked
  Trace second;  // and then the other
};

struct Book {
  seam::Mutex mutex;
  // Guarded by mutex.
  std::unordered_map<const void*, std::vector<Held>> held;                        // by who holds: a task or a root
  std::unordered_map<const void*, const void*> holder;                            // by mutex
  std::unordered_map<const void*, std::unordered_map<const void*, Order>> after;  // locked while the key was held
  std::unordered_map<const FiberCore*, std::vector<Held>> held_std;               // by root
  std::unordered_map<const void*, FiberCore*> std_holder;                         // by mutex
  std::vector<std::string> reports;
};

Book& book() {
  static Book* the = new Book;  // never destroyed: mutexes of static duration outlive it
  return *the;
}

const void* holder_here() {
  const FiberCore* root = current_core()->root;
  return root->task != nullptr ? static_cast<const void*>(root->task) : root;
}

bool is_ours(const ResolvedFrame& frame) {
  if (frame.file.empty()) return frame.function.starts_with("weft::") || frame.function.starts_with("std::");
  const std::string_view file = frame.file;
  for (const char* part : {"include/weft/", "src/sched/", "src/wait/", "src/task/", "src/fiber/", "/include/c++/"})
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

// The innermost place that is neither ours nor the standard library's.
std::string place_of(const Trace& trace) {
  for (const TracePart& part : trace.parts) {
    for (const ResolvedFrame& frame : resolve(part)) {
      if (is_ours(frame)) continue;
      std::string text = frame.function.empty() ? "??" : frame.function;
      if (!frame.file.empty()) text += " (" + frame.file + ":" + std::to_string(frame.line) + ")";
      return text;
    }
  }
  return "an unknown place";
}

// Under the book's mutex.
void report(Book& b, std::string text) {
  sys::write_all(2, "weft: " + text);
  b.reports.push_back(std::move(text));
}

// Is there a way from `from` to `to`? The first step of it.
const Order* way(const Book& b, const void* from, const void* to, std::unordered_set<const void*>& seen) {
  const auto found = b.after.find(from);
  if (found == b.after.end() || !seen.insert(from).second) return nullptr;
  for (const auto& [next, order] : found->second)
    if (next == to || way(b, next, to, seen) != nullptr) return &order;
  return nullptr;
}

}  // namespace

void note_locked(const void* mutex, bool waited_for) {
  Trace here = stack_here();
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  const void* me = holder_here();
  std::vector<Held>& mine = b.held[me];
  if (waited_for) {
    for (const Held& before : mine) {
      auto& orders = b.after[before.mutex];
      if (orders.contains(mutex)) continue;
      std::unordered_set<const void*> seen;
      if (const Order* back = way(b, mutex, before.mutex, seen)) {
        report(b, "lock order: two mutexes are locked in both orders\n  here: the first at " + place_of(before.where) +
                      ", then the second at " + place_of(here) + "\n  there: the second at " + place_of(back->first) +
                      ", then the first at " + place_of(back->second) + "\n");
      }
      orders.emplace(mutex, Order{before.where, here});
    }
  }
  mine.push_back({mutex, std::move(here)});
  b.holder[mutex] = me;
}

void note_unlocked(const void* mutex) {
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  const auto found = b.holder.find(mutex);
  if (found == b.holder.end()) return;  // locked before the checks were on
  const auto mine = b.held.find(found->second);
  if (mine != b.held.end()) {
    std::erase_if(mine->second, [mutex](const Held& each) { return each.mutex == mutex; });
    if (mine->second.empty()) b.held.erase(mine);
  }
  b.holder.erase(found);
}

void forget_lock(const void* mutex) {
  note_unlocked(mutex);
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  b.after.erase(mutex);
  for (auto& [from, orders] : b.after) orders.erase(mutex);
}

void note_std_locked(const void* mutex) {
  Trace here = stack_here();
  FiberCore* root = current_core()->root;
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  b.held_std[root].push_back({mutex, std::move(here)});
  b.std_holder[mutex] = root;
  root->alert.fetch_or(alert_held, std::memory_order_relaxed);
}

void note_std_unlocked(const void* mutex) {
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  const auto found = b.std_holder.find(mutex);
  if (found == b.std_holder.end()) return;
  FiberCore* root = found->second;
  b.std_holder.erase(found);
  std::vector<Held>& mine = b.held_std[root];
  std::erase_if(mine, [mutex](const Held& each) { return each.mutex == mutex; });
  if (!mine.empty()) return;
  b.held_std.erase(root);
  root->alert.fetch_and(~std::uint32_t{alert_held}, std::memory_order_relaxed);
}

void report_held(const TaskCore& task) {
  const Trace here = stack_here();
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  const auto mine = b.held_std.find(current_core()->root);
  if (mine == b.held_std.end()) return;
  for (Held& each : mine->second) {
    if (std::exchange(each.told, true)) continue;
    report(b, "task " + std::to_string(task.id) + " suspends while it holds a std::mutex\n  locked at " +
                  place_of(each.where) + "\n  suspended at " + place_of(here) + "\n");
  }
}

}  // namespace detail

using namespace detail;

void check_locks(bool on) {
  locks_are_checked = on;
}

std::vector<std::string> lock_reports() {
  Book& b = book();
  const std::lock_guard guard(b.mutex);
  return b.reports;
}

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
#include "sched/task_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/peek.hpp"
#include "fiber/peek_stack.hpp"
#include "sched/worker.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {
namespace {

// A copy of the bytes; its atomics are plain numbers now.
struct RecordCopy {
  alignas(TaskCore) std::byte bytes[sizeof(TaskCore)];
  const TaskCore& get() const { return *reinterpret_cast<const TaskCore*>(bytes); }
};

std::string peek_text(const char* text, std::size_t most) {
  std::string copy;
  while (text != nullptr && copy.size() < most) {
    // Not over the end of a page: what lies behind it may not be there.
    constexpr std::uintptr_t page = 4096;
    const char* from = text + copy.size();
    char piece[64];
    const std::size_t length =
        std::min<std::size_t>(sizeof piece, page - reinterpret_cast<std::uintptr_t>(from) % page);
    if (!peek(piece, from, length)) break;
    const std::size_t used = strnlen(piece, length);
    copy.append(piece, used);
    if (used < length) break;
  }
  return copy;
}

bool same(const TaskCore* task, TaskMoment moment, std::uint64_t id) {
  std::uint64_t id_now = 0;
  return task->word.look().bits() == moment.bits() && peek(&id_now, &task->id, sizeof id_now) && id_now == id;
}

// Who holds it now.
const TaskCore* holder_of(const WaitInfo& info) {
  constexpr std::uintptr_t flags = alignof(TaskCore) - 1;
  std::uintptr_t word = 0;
  if (info.holder_at == nullptr || !peek(&word, info.holder_at, sizeof word)) return info.holder;
  return reinterpret_cast<const TaskCore*>(word & ~flags);
}

void view_wait(const TaskCore& copy, TaskView& into) {
  WaitInfo info;
  if (copy.wait == nullptr || !peek(info, copy.wait)) return;
  into.wait = peek_text(info.kind, 64);
  into.wait_object = info.object;
  into.holder = holder_of(info);
  into.last_seen = info.last_seen;
  into.outside = info.outside;
  constexpr std::size_t most_cases = 64;
  while (info.next != nullptr && into.cases.size() < most_cases && peek(info, info.next)) {
    into.cases.push_back({peek_text(info.kind, 64), info.object, holder_of(info), info.last_seen});
    into.outside |= info.outside;
  }
}

}  // namespace

const char* state_name(const TaskMoment& moment) {
  switch (moment.state()) {
    case TaskState::parking:
      if (moment.reason() != WakeReason::none) return "WAKING";
      return moment.left() ? "PARKED" : "PARKING";
    default:
      return to_string(moment.state());
  }
}

bool view_task(const TaskCore* task, TaskView& into) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const TaskMoment moment = task->word.look();
    if (moment.state() == TaskState::free) return false;
    const std::uint64_t id = task->id;  // which it has from here on
    RecordCopy copy;
    if (!peek(copy.bytes, task, sizeof copy.bytes)) return false;
    const TaskCore& record = copy.get();
    into = {};
    into.record = task;
    into.id = id;
    into.name = peek_text(record.name, 200);
    into.site = record.site;
    into.moment = moment;
    into.flags = record.flags;
    into.last_worker = record.last_worker;
    into.parked_at = record.parked_at;
    into.scope = record.scope;
    into.birth = record.born_in();
    into.strand = record.strand;
    into.top = record.top;
    if (into.parked()) view_wait(record, into);
    // A nursery lives as long as its children do, not as long as their handles.
    if (record.nursery != nullptr && !into.ended() &&
        peek(&into.nursery_owner, &record.nursery->owner, sizeof into.nursery_owner))
      into.nursery = record.nursery;
    if (same(task, moment, id)) return true;
  }
  return false;
}

const TaskCore* running_on(const Worker& worker) {
  const FiberCore* root = worker.here.load(std::memory_order_relaxed);  // relaxed: what it points at is peeked at
  const TaskCore* task = nullptr;
  return root != nullptr && peek(&task, &root->task, sizeof task) ? task : nullptr;
}

const TaskCore* innermost_of(const TaskCore* task) {
  const FiberCore* root = nullptr;
  const TaskCore* inner = nullptr;
  if (!peek(&root, &task->root, sizeof root) || root == nullptr) return task;
  if (!peek(&inner, &root->task, sizeof inner) || inner == nullptr) return task;
  return inner;
}

Trace stack_of_parked(const TaskView& view) {
  if (!view.parked() || view.top == nullptr) return {};
  Trace trace = peek_stack(view.top);
  return same(view.record, view.moment, view.id) ? trace : Trace{};
}

}  // namespace weft::inline v0::detail

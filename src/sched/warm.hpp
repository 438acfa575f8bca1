// SPDX-License-Identifier: MIT
// What: fetches what tasks that are about to run will touch: record, core, and the frames of the wait that they come
// back from. All at once, so that their misses overlap; one by one each of them stalls the task that meets it. Worth it
// for stacks that are cold, as those of a thousand connections are.
// Threads: whoever has the tasks, before anybody else does: of few ones, or the first are gone before they run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

// Tasks that have parked.
inline void warm(const Chain& tasks) {
  constexpr std::uintptr_t most_frames = 14 * cache_line;  // from a park in an engine to who reads or writes a stream
  const auto fetch = [](std::uintptr_t at) { __builtin_prefetch(reinterpret_cast<const void*>(at), 1); };
  for (Entry entry = tasks.front(); entry; entry = Chain::after(entry)) {
    const auto record = reinterpret_cast<std::uintptr_t>(entry.as<TaskCore>());
    const auto core = reinterpret_cast<std::uintptr_t>(entry.as<TaskCore>()->top);
    for (const unsigned line : {1U, 2U}) fetch(record + line * cache_line);
    for (const unsigned line : {0U, 1U, 3U}) fetch(core + line * cache_line);
  }
  for (Entry entry = tasks.front(); entry; entry = Chain::after(entry)) {
    const FiberCore* core = entry.as<TaskCore>()->top;
    const auto sp = reinterpret_cast<std::uintptr_t>(core->ctx.sp);
    const std::uintptr_t there = reinterpret_cast<std::uintptr_t>(core) - sp;
    for (std::uintptr_t at = 0; at < there && at < most_frames; at += cache_line) fetch(sp + at);
  }
}

// Of a long queue that is taken from one by one: the record of the next but one, and the stack of the next, whose
// record came one step before.
inline void warm_next(const Chain& queue) {
  constexpr std::size_t frames = 8 * cache_line;
  const Entry next = queue.front();
  if (!next) return;
  if (const Entry then = Chain::after(next)) {
    const auto* record = reinterpret_cast<const std::byte*>(then.link());
    for (std::size_t at = 0; at < sizeof(TaskCore); at += cache_line) __builtin_prefetch(record + at, 1);
  }
  if (next.kind() != entry_task) return;
  const auto* top = reinterpret_cast<const std::byte*>(next.as<TaskCore>()->top);
  if (top == nullptr) return;
  for (const std::byte* at = top - frames; at < top + sizeof(FiberCore); at += cache_line) __builtin_prefetch(at, 1);
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "fiber/peek_stack.hpp"

#include <cstring>

#include "base/peek.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t most_fibers = 256;
constexpr std::size_t most_frames = 128;

struct CoreCopy {
  alignas(FiberCore) std::byte bytes[sizeof(FiberCore)];
  const FiberCore& get() const { return *reinterpret_cast<const FiberCore*>(bytes); }
};

void walk(const FiberCore& core, TracePart& part) {
  part.frames.push_back({core.ctx.pc});
  if (core.slot.shift == 0) return;  // a thread's own stack
  const std::uintptr_t high = core.slot.ceiling();
  auto low = reinterpret_cast<std::uintptr_t>(core.ctx.sp);
  auto fp = reinterpret_cast<std::uintptr_t>(core.ctx.fp);
  std::uintptr_t words[2];
  while (part.frames.size() < most_frames && fp >= low && fp + sizeof words <= high && fp % 8 == 0 &&
         peek(words, reinterpret_cast<const void*>(fp), sizeof words) && words[1] != 0) {
    part.frames.push_back({reinterpret_cast<const void*>(words[1])});
    low = fp + sizeof words;
    fp = words[0];
  }
}

}  // namespace

Trace peek_stack(const FiberCore* innermost) {
  Trace trace;
  for (const FiberCore* at = innermost; at != nullptr && trace.parts.size() < most_fibers;) {
    CoreCopy copy;
    if (!peek(copy.bytes, at, sizeof copy.bytes)) break;
    const FiberCore& core = copy.get();
    TracePart part;
    part.fiber = core.id;
    part.name.assign(core.name, strnlen(core.name, sizeof core.name));
    walk(core, part);
    trace.parts.push_back(std::move(part));
    at = core.parent;
  }
  return trace;
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// Relaxed: a type that is written before it is first thrown.
#include "weft/trace.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fiber/carrier.hpp"
#include "fiber/chain.hpp"
#include "fiber/failure.hpp"
#include "fiber/symbols.hpp"
#include "fiber/thrown.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

constexpr std::size_t max_frames = 128;

// Raw addresses, as the personality routine collects them: no allocation but the block itself.
struct RawTrace {
  std::size_t count = 0;
  const void* frames[max_frames];
};

_Unwind_Reason_Code on_frame(_Unwind_Context* context, void* data) {
  auto* raw = static_cast<RawTrace*>(data);
  if (raw->count == max_frames) return _URC_END_OF_STACK;
  const auto pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  raw->frames[raw->count++] = reinterpret_cast<const void*>(pc);
  return _URC_NO_REASON;
}

TracePart part_of(const FiberCore& core) {
  TracePart part;
  part.fiber = core.flags & flag_root ? 0 : core.id;
  part.name = core.name;
  return part;
}

// Follows saved frame pointers; every step stays within the stack and goes up, so garbage ends it.
void walk_frame_pointers(const FiberCore& core, TracePart& part) {
  part.frames.push_back({core.ctx.pc});
  if (core.flags & flag_root) return;
  const std::uintptr_t high = core.slot.ceiling();
  auto low = reinterpret_cast<std::uintptr_t>(core.ctx.sp);
  auto fp = reinterpret_cast<std::uintptr_t>(core.ctx.fp);
  while (part.frames.size() < max_frames && fp >= low && fp + 16 <= high && fp % 8 == 0) {
    const auto* words = reinterpret_cast<const std::uintptr_t*>(fp);
    if (words[1] == 0) break;
    part.frames.push_back({reinterpret_cast<const void*>(words[1])});
    low = fp + 16;
    fp = words[0];
  }
}

bool is_machinery(std::string_view function) {
  constexpr std::string_view names[] = {
      "weft_entry_personality", "_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow", "__cxa_throw",
      "__cxa_rethrow",          "std::rethrow_exception", "_Unwind_Backtrace",         "_Unwind_RaiseException_Phase2",
  };
  for (const std::string_view name : names)
    if (function == name) return true;
  return function.find("detail::take_trace") != std::string_view::npos ||
         function.find("rethrow_exception(") != std::string_view::npos;
}

}  // namespace

void take_trace(FiberCore* core) noexcept {
  auto* raw = static_cast<RawTrace*>(core->pending_trace);
  if (raw == nullptr) raw = static_cast<RawTrace*>(std::malloc(sizeof(RawTrace)));
  if (raw == nullptr) return;  // an error without a trace is still an error
  raw->count = 0;
  core->pending_trace = raw;
  core->flags |= flag_extras;
  _Unwind_Backtrace(on_frame, raw);
}

seam::Atomic<const std::type_info*> untraced_type{nullptr};

// The header that libstdc++ puts before a thrown object ends with the unwinder's part and begins with the type
// (Itanium C++ ABI, level II); told by the exception class that a C++ exception of this library has, not a copy of one.
bool is_untraced(const _Unwind_Exception* exception) noexcept {
  constexpr std::uint64_t primary = 0x474e5543432b2b00;  // "GNUCC++\0"
  const std::type_info* untraced = untraced_type.load(std::memory_order_relaxed);
  if (untraced == nullptr || exception->exception_class != primary) return false;
  constexpr std::size_t before_unwind_part = 80;
  const std::type_info* type;
  std::memcpy(&type, reinterpret_cast<const char*>(exception) - before_unwind_part, sizeof type);
  return type == untraced;
}

void drop_trace(FiberCore* core) noexcept {
  std::free(std::exchange(core->pending_trace, nullptr));
}

void attach_trace(FiberCore* core, const std::exception_ptr& failure) noexcept {
  auto* raw = static_cast<RawTrace*>(core->pending_trace);
  if (raw == nullptr) return;
  Carrier& carrier = *core->root->carrier;
  if (carrier.limit == 0) return drop_trace(core);  // nobody would drop the record
  try {
    if (carrier.failure == nullptr) carrier.failure = new Failure;
    Failure& record = *carrier.failure;
    if (record.exception != failure) {
      tools_error_goes(record.exception);
      record.exception = failure;
      record.trace.parts.clear();
    }
    TracePart part = part_of(*core);
    part.frames.reserve(raw->count);
    for (std::size_t i = 0; i < raw->count; ++i) part.frames.push_back({raw->frames[i]});
    record.trace.parts.push_back(std::move(part));
  } catch (...) {
    // Out of memory while describing an error: the error itself goes on.
  }
  drop_trace(core);
}

void drop_failure(Carrier& carrier) noexcept {
  if (carrier.failure != nullptr) tools_error_goes(carrier.failure->exception);
  delete std::exchange(carrier.failure, nullptr);
}

}  // namespace detail

using namespace detail;

Trace stack_here() {
  RawTrace raw;
  _Unwind_Backtrace(on_frame, &raw);
  TracePart part = part_of(*current_core());
  for (std::size_t i = 0; i < raw.count; ++i) part.frames.push_back({raw.frames[i]});
  Trace trace;
  trace.parts.push_back(std::move(part));
  return trace;
}

Trace trace() {
  const std::exception_ptr current = std::current_exception();
  if (current == nullptr) return {};
  Trace result;
  const Failure* record = current_core()->root->carrier->failure;
  if (record != nullptr && record->exception == current) result = record->trace;
  Trace here = stack_here();
  result.parts.push_back(std::move(here.parts.front()));
  return result;
}

std::vector<std::exception_ptr> other_errors() {
  return kept_beside(std::current_exception());
}

Trace stack_of(const Fiber& fiber) {
  Trace result;
  FiberCore* top = fiber.core();
  if (top == nullptr || top->state == State::new_ || detail::finished(*top)) return result;
  const FiberCore* self = current_core();
  // Downwards: a child that runs on its own has another parent for that time.
  for (FiberCore* core = top; core != nullptr && !detail::finished(*core); core = core->child) {
    if (core == self) {
      Trace here = stack_here();
      result.parts.push_back(std::move(here.parts.front()));
      break;
    }
    TracePart part = part_of(*core);
    walk_frame_pointers(*core, part);
    result.parts.push_back(std::move(part));
  }
  std::reverse(result.parts.begin(), result.parts.end());
  return result;
}

std::vector<ResolvedFrame> resolve(const TracePart& part) {
  std::vector<ResolvedFrame> frames;
  std::size_t first = 0;
  // The part begins inside the unwinder; drop everything up to the function that threw.
  for (std::size_t i = 0; i < part.frames.size() && i < 12; ++i) {
    std::vector<ResolvedFrame> probe;
    resolve_address(part.frames[i].address, false, probe);
    if (!probe.empty() && is_machinery(probe.back().function)) first = i + 1;
  }
  for (std::size_t i = first; i < part.frames.size(); ++i) resolve_address(part.frames[i].address, false, frames);
  return frames;
}

std::string to_string(const Trace& trace) {
  std::string text;
  for (const TracePart& part : trace.parts) {
    if (part.fiber == 0) {
      text += "on the thread's own stack\n";
    } else {
      text += "in fiber " + std::to_string(part.fiber);
      if (!part.name.empty()) text += " \"" + part.name + "\"";
      text += "\n";
    }
    for (const ResolvedFrame& frame : resolve(part)) {
      text += "  at " + (frame.function.empty() ? std::string("??") : frame.function);
      if (!frame.file.empty()) {
        text += " (" + frame.file;
        if (frame.line > 0) text += ":" + std::to_string(frame.line);
        text += ")";
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace weft::inline v0

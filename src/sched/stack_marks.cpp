// SPDX-License-Identifier: MIT
#include "sched/stack_marks.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "fiber/watermark.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {
namespace {

// Below the frame of who erases: his own calls.
constexpr std::uintptr_t margin = 4096;

struct Marks {
  seam::Mutex mutex;
  std::map<std::pair<std::string, unsigned>, std::size_t> deepest;  // guarded by mutex
};

Marks& marks() {
  static Marks* the = new Marks;  // never destroyed, as runtimes may not be
  return *the;
}

}  // namespace

void note_stack_depth(const FiberCore& core, const std::source_location& site) {
  const auto top = reinterpret_cast<std::uintptr_t>(&core);
  const std::uintptr_t floor = core.slot.floor();
  const std::size_t depth = top - deepest_word(floor, top);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here - margin > floor && here < top) erase_stack(floor, here - margin);
  const std::lock_guard guard(marks().mutex);
  std::size_t& deepest = marks().deepest[{site.file_name(), site.line()}];
  deepest = std::max(deepest, depth);
}

std::string stack_marks_text() {
  std::string text;
  const std::lock_guard guard(marks().mutex);
  for (const auto& [site, depth] : marks().deepest) {
    text += "stack_high_water{site=\"" + site.first + ":" + std::to_string(site.second) + "\"} ";
    text += std::to_string(depth) + "\n";
  }
  return text;
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "fiber/watermark.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>

#include "base/sys.hpp"
#include "fiber/tool_hooks.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::uintptr_t page = 4096;
constexpr std::uintptr_t pages_at_once = 1024;

// Dead frames are poisoned, unaddressable or raced for in the eyes of the memory tools: they are told not to look.
[[gnu::noinline]] __attribute__((no_sanitize("address", "thread", "undefined"))) std::uintptr_t first_word(
    std::uintptr_t from, std::uintptr_t to) {
  for (; from < to; from += sizeof(std::uintptr_t))
    if (*reinterpret_cast<const volatile std::uintptr_t*>(from) != 0) return from;
  return to;
}

[[gnu::noinline]] __attribute__((no_sanitize("address", "thread", "undefined"))) void zero(std::uintptr_t from,
                                                                                           std::uintptr_t to) {
  for (; from < to; from += sizeof(std::uintptr_t)) *reinterpret_cast<volatile std::uintptr_t*>(from) = 0;
}

}  // namespace

std::uintptr_t deepest_word(std::uintptr_t floor, std::uintptr_t top) noexcept {
  const ToolsLookAway quiet;
  top &= ~std::uintptr_t{7};
  for (std::uintptr_t at = floor; at < top;) {
    unsigned char resident[pages_at_once] = {};
    const std::uintptr_t pages = std::min((top - at + page - 1) / page, pages_at_once);
    if (sys::is_error(sys::invoke(SYS_mincore, static_cast<long>(at), static_cast<long>(pages * page),
                                  static_cast<long>(reinterpret_cast<std::uintptr_t>(resident)))))
      return top;
    for (std::uintptr_t i = 0; i < pages; ++i, at += page) {
      if (!(resident[i] & 1)) continue;
      const std::uintptr_t end = std::min(at + page, top);
      if (const std::uintptr_t found = first_word(at, end); found != end) return found;
    }
  }
  return top;
}

void erase_stack(std::uintptr_t floor, std::uintptr_t top) noexcept {
  const std::uintptr_t from = deepest_word(floor, top);
  const ToolsLookAway quiet;
  zero(from, top & ~std::uintptr_t{7});
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "weft/detail/assert.hpp"

#include <cstdlib>

#include "base/text_writer.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

namespace {

seam::Atomic<AssertHook> current_hook{nullptr};

}  // namespace

constinit seam::Guessed<bool> spec_assertions = false;

AssertHook set_assert_hook(AssertHook hook) noexcept {
  // acq_rel: what the hook relies on was written before it was set.
  return current_hook.exchange(hook, std::memory_order_acq_rel);
}

void assert_failed(const char* text, const char* condition, const char* file, int line) {
  // acquire: pairs with set_assert_hook.
  if (const AssertHook hook = current_hook.load(std::memory_order_acquire)) hook(text, condition, file, line);
  char room[512];
  TextWriter out(room);
  out.text("weft: ").text(text).text(" (").text(condition).text(") at ").text(file).text(":").decimal(line).line();
  (void)out.write_to(2);
  std::abort();
}

}  // namespace weft::inline v0::detail

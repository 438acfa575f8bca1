// SPDX-License-Identifier: MIT
// A million fibers suspended at once on one thread: time to create and start them, memory, time to end them.
#include <memory>
#include <vector>

#include "bench/child.hpp"
#include "bench/harness.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/stack.hpp"
#include "weft/fiber.hpp"

namespace bench {
namespace {

constexpr std::size_t million = 1'000'000;

std::vector<Reading> million_fibers() {
  std::vector<weft::Fiber> fibers(million);  // the handles' own memory is touched before the first look
  {
    weft::Fiber([] {}).resume();
  }
  const MemoryUse before = memory_use();
  const std::uint64_t t0 = now_ns(Clock::cpu);
  for (weft::Fiber& f : fibers) {
    f = weft::Fiber([] { weft::yield(); });
    f.resume();
  }
  const std::uint64_t t1 = now_ns(Clock::cpu);
  const MemoryUse during = memory_use();
  const std::uint64_t t2 = now_ns(Clock::cpu);
  for (weft::Fiber& f : fibers) f.resume();
  const std::uint64_t t3 = now_ns(Clock::cpu);
  fibers.clear();
  const std::uint64_t t4 = now_ns(Clock::cpu);
  const auto each = [](double v) { return v / static_cast<double>(million); };
  const auto span = [](std::uint64_t from, std::uint64_t to) { return static_cast<double>(to - from); };
  return {{"million_create/weft", "ns", each(span(t0, t1))},
          {"million_create_total/weft", "ms", span(t0, t1) / 1e6},
          {"million_rss/weft", "bytes", each(during.rss_bytes - before.rss_bytes)},
          {"million_pte/weft", "bytes", each(during.page_table_bytes - before.page_table_bytes)},
          {"million_finish/weft", "ns", each(span(t2, t3))},
          {"million_teardown/weft", "ns", each(span(t3, t4))},
          {"million_teardown_total/weft", "ms", span(t3, t4) / 1e6}};
}

std::string guard_kind() {
  weft::Fiber([] {}).resume();
  return weft::detail::stack_stats().guard == weft::detail::GuardKind::madvise ? "madvise" : "mprotect";
}
std::string stack_bytes() {
  return std::to_string(weft::detail::default_stack_size());
}
std::string fence_kind() {
  return weft::seam::fence_kind() == weft::seam::FenceKind::asymmetric ? "asymmetric" : "real";
}

const Register entries[] = {
    Register(Probe{"fiber", "million", Side::weft, 3, million_fibers}),
    Register(Fact{"fiber", "stack_guard", guard_kind}),
    Register(Fact{"fiber", "stack_size", stack_bytes}),
    Register(Fact{"fiber", "fences", fence_kind}),
};

}  // namespace
}  // namespace bench

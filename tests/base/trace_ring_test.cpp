// SPDX-License-Identifier: MIT
#include "base/trace_ring.hpp"

#include <atomic>
#include <vector>

#include "stress.hpp"

using namespace weft::detail;
using namespace weft_test;

namespace {

// Words that only belong together if the record is whole.
std::uint64_t first_word(std::uint64_t number) {
  return number * 0x9e3779b97f4a7c15u;
}
std::uint64_t second_word(std::uint64_t number) {
  return ~first_word(number) ^ 0x5555;
}
void write(TraceRing& ring, std::uint64_t number) {
  ring.record_at(static_cast<std::int64_t>(number ^ 0x777), static_cast<std::uint16_t>(number), first_word(number),
                 second_word(number));
}
bool whole(const TraceRecord& record) {
  return record.kind == static_cast<std::uint16_t>(record.number) && record.a == first_word(record.number) &&
         record.b == second_word(record.number) && record.time == static_cast<std::int64_t>(record.number ^ 0x777);
}

}  // namespace

TEST_CASE("trace ring: switched off it records nothing, switched on everything") {
  TraceRing ring(4);
  std::vector<TraceRecord> out(8);
  ring.record(1, 2, 3);
  CHECK(ring.snapshot(out).records == 0);
  ring.switch_on(true);
  const std::int64_t before = weft::seam::monotonic_ns();
  ring.record(7, 8, 9);
  ring.switch_on(false);
  ring.record(1, 2, 3);
  const auto copied = ring.snapshot(out);
  REQUIRE(copied.records == 1);
  CHECK(out[0].number == 0);
  CHECK(out[0].kind == 7);
  CHECK(out[0].a == 8);
  CHECK(out[0].b == 9);
  CHECK(out[0].time >= before);
  CHECK(out[0].time <= weft::seam::monotonic_ns());
}

TEST_CASE("trace ring: the oldest are overwritten, the newest come out in order, the rest is counted") {
  for (const std::uint64_t start : {std::uint64_t{0}, ~std::uint64_t{0} - 5, (std::uint64_t{1} << 48) - 6}) {
    TraceRing ring(4, start);
    ring.switch_on(true);
    for (std::uint64_t i = 0; i < 11; ++i) write(ring, start + i);
    std::vector<TraceRecord> out(8);
    auto copied = ring.snapshot(out);
    REQUIRE(copied.records == 4);
    CHECK(copied.skipped == 0);
    CHECK(copied.dropped == 7);
    for (std::uint64_t i = 0; i < 4; ++i) {
      CHECK(out[i].number == start + 7 + i);
      CHECK(whole(out[i]));
    }
    copied = ring.snapshot(std::span(out).first(2));
    CHECK(copied.records == 2);
    CHECK(copied.dropped == 9);
    CHECK(out[0].number == start + 9);
    CHECK(out[1].number == start + 10);
  }
}

TEST_CASE("trace ring: snapshots beside a busy writer have whole records only, in order") {
  WEFT_LOG_SEED();
  constexpr std::uint64_t count = 200'000;
  TraceRing ring(2);  // so that what is read is what is overwritten next
  ring.switch_on(true);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> torn{0};
  std::atomic<std::size_t> disorder{0};
  std::atomic<std::size_t> kept{0};
  std::atomic<std::size_t> skipped{0};
  crew(3, [&](std::size_t me) {
    if (me == 0) {
      for (std::uint64_t i = 0; i < count; ++i) write(ring, i);
      done.store(true, std::memory_order_release);
      return;
    }
    std::vector<TraceRecord> out(8);
    while (!done.load(std::memory_order_acquire)) {
      const auto copied = ring.snapshot(out);
      for (std::size_t i = 0; i < copied.records; ++i) {
        if (!whole(out[i])) torn.fetch_add(1, std::memory_order_relaxed);
        if (i > 0 && out[i].number <= out[i - 1].number) disorder.fetch_add(1, std::memory_order_relaxed);
      }
      kept.fetch_add(copied.records, std::memory_order_relaxed);
      skipped.fetch_add(copied.skipped, std::memory_order_relaxed);
    }
  });
  CHECK(torn.load() == 0);
  CHECK(disorder.load() == 0);
  std::vector<TraceRecord> out(8);
  const auto last = ring.snapshot(out);
  CHECK(last.records == 2);
  CHECK(last.dropped == count - 2);
  CHECK(out[1].number == count - 1);
  MESSAGE("kept ", kept.load(), ", skipped ", skipped.load());
}

// SPDX-License-Identifier: MIT
// The trace ring: a reader beside a writer that comes round [TRACE-2].
#include "base/trace_ring.hpp"

#include <array>
#include <cstdint>

#include "explorer/registry.hpp"
#include "mutants.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using TraceRing = detail::TraceRing;
  using TraceRecord = detail::TraceRecord;
};

template <class Kit>
void write(typename Kit::TraceRing& ring, std::uint64_t number) {
  ring.record_at(static_cast<std::int64_t>(number), static_cast<std::uint16_t>(number), number, number);
}

// A ring of two is full; the third record overwrites the first while somebody copies.
template <class Kit>
void overwritten(World& world) {
  auto& ring = world.make<typename Kit::TraceRing>("ring", 2U);
  ring.switch_on(true);
  write<Kit>(ring, 0);
  write<Kit>(ring, 1);
  world.thread("writer", [&ring] { write<Kit>(ring, 2); });
  world.thread("reader", [&ring] {
    std::array<typename Kit::TraceRecord, 2> out{};
    const auto copied = ring.snapshot(out);
    check(copied.records >= 1, "a record that nobody touched was skipped");
    check(copied.records + copied.skipped == 2, "records were neither kept nor skipped");
    for (std::size_t i = 0; i < copied.records; ++i) {
      const auto& record = out[i];
      check(record.a == record.number && record.b == record.number && record.kind == record.number &&
                record.time == static_cast<std::int64_t>(record.number),
            "a torn record was kept");
    }
  });
}

const Register real{{.name = "trace ring: a copy against an overwriting record", .run = overwritten<Real>}};
const Register delayed{{.name = "trace ring: a copy against an overwriting record with delayed stores",
                        .run = overwritten<Real>,
                        .delays = 2}};
const Register m1{{.name = "mutant: trace ring stamps after the words",
                   .run = overwritten<mutants::trace_stamped_last::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: trace ring reader does not look again",
                   .run = overwritten<mutants::trace_no_second_look::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: trace ring announces before it has written",
                   .run = overwritten<mutants::trace_announced_first::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

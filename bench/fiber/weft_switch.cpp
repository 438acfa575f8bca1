// SPDX-License-Identifier: MIT
// Our fiber as contestant: switching back and forth, with and without values, and rings of many.
#include "bench/fiber/ring.hpp"
#include "bench/fiber/sites.hpp"
#include "bench/harness.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"

namespace bench {
namespace {

void resume_yield(Batch& batch) {
  weft::Fiber f([] {
    for (;;) weft::yield();
  });
  f.resume();
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) f.resume();
  batch.stop();
}

void resume_yield_sites(Batch& batch) {
  weft::Fiber f([] {
    auto yield = []() WEFT_BENCH_AT_SITE { weft::yield(); };
    for (;;) yield_at_all_sites(yield);
  });
  f.resume();
  batch.round_up_to(resume_sites);
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); i += resume_sites)
    resume_at_all_sites([&]() WEFT_BENCH_AT_SITE { f.resume(); });
  batch.stop();
}

void resume_yield_value(Batch& batch) {
  weft::Fiber f([] {
    int next = 0;
    for (;;) next = weft::yield(next).as<int>();
  });
  f.resume();
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) keep(f.resume(static_cast<int>(i)).value.as<int>());
  batch.stop();
}

void generator(Batch& batch) {
  const std::uint64_t n = batch.ops();
  batch.start();
  std::int64_t sum = 0;
  for (const int x : weft::Generator<int>([n] {
         for (std::uint64_t i = 0; i < n; ++i) weft::yield(static_cast<int>(i));
       }))
    sum += x;
  batch.stop();
  keep(sum);
}

template <std::size_t N>
void ring_of(Batch& batch) {
  ring<N>(
      batch,
      [] {
        return weft::Fiber([] {
          for (;;) weft::yield();
        });
      },
      [](weft::Fiber& f) { f.resume(); });
}

const Register entries[] = {
    Register(Contestant{"fiber", "resume_yield", "weft", Side::weft, resume_yield}),
    Register(Contestant{"fiber", "resume_yield_sites", "weft", Side::weft, resume_yield_sites}),
    Register(Contestant{"fiber", "resume_yield_value", "weft", Side::weft, resume_yield_value}),
    Register(Contestant{"fiber", "generator", "weft", Side::weft, generator}),
    Register(Contestant{"fiber", "ring_00064", "weft", Side::weft, ring_of<64>}),
    Register(Contestant{"fiber", "ring_01000", "weft", Side::weft, ring_of<1000>}),
    Register(Contestant{"fiber", "ring_10000", "weft", Side::weft, ring_of<10000>}),
};

}  // namespace
}  // namespace bench

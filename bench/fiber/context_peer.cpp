// SPDX-License-Identifier: MIT
// Boost.Context as contestant: its fiber and its callcc. Lower than a fiber of ours: no values, signals, state or
// errors.
#include <boost/context/continuation.hpp>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <memory>

#include "bench/fiber/ring.hpp"
#include "bench/fiber/sites.hpp"
#include "bench/harness.hpp"

namespace bench {
namespace {

namespace ctx = boost::context;

void resume_yield_fiber(Batch& batch) {
  ctx::fiber f([](ctx::fiber&& main) {
    for (;;) main = std::move(main).resume();
    return std::move(main);
  });
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) f = std::move(f).resume();
  batch.stop();
}

void resume_yield_callcc(Batch& batch) {
  ctx::continuation c = ctx::callcc([](ctx::continuation&& main) {
    for (;;) main = main.resume();
    return std::move(main);
  });
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) c = c.resume();
  batch.stop();
}

void resume_yield_sites(Batch& batch) {
  ctx::fiber f([](ctx::fiber&& main) {
    for (;;) yield_at_all_sites([&]() WEFT_BENCH_AT_SITE { main = std::move(main).resume(); });
    return std::move(main);
  });
  batch.round_up_to(resume_sites);
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); i += resume_sites)
    resume_at_all_sites([&]() WEFT_BENCH_AT_SITE { f = std::move(f).resume(); });
  batch.stop();
}

void create_run_destroy(Batch& batch) {
  ctx::pooled_fixedsize_stack stacks;
  int runs = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) {
    ctx::fiber f(std::allocator_arg, stacks, [&runs](ctx::fiber&& main) {
      ++runs;
      return std::move(main);
    });
    f = std::move(f).resume();
  }
  batch.stop();
  keep(runs);
}

template <std::size_t N>
void ring_of(Batch& batch) {
  ctx::pooled_fixedsize_stack stacks;
  ring<N>(
      batch,
      [&] {
        return ctx::fiber(std::allocator_arg, stacks, [](ctx::fiber&& main) {
          for (;;) main = std::move(main).resume();
          return std::move(main);
        });
      },
      [](ctx::fiber& f) { f = std::move(f).resume(); });
}

const Register entries[] = {
    Register(Contestant{"fiber", "resume_yield", "context_fiber", Side::peer, resume_yield_fiber}),
    Register(Contestant{"fiber", "resume_yield", "context_callcc", Side::peer, resume_yield_callcc}),
    Register(Contestant{"fiber", "resume_yield_sites", "context_fiber", Side::peer, resume_yield_sites}),
    Register(Contestant{"fiber", "create_run_destroy", "context_fiber", Side::peer, create_run_destroy}),
    Register(Contestant{"fiber", "ring_00064", "context_fiber", Side::peer, ring_of<64>}),
    Register(Contestant{"fiber", "ring_01000", "context_fiber", Side::peer, ring_of<1000>}),
    Register(Contestant{"fiber", "ring_10000", "context_fiber", Side::peer, ring_of<10000>}),
};

}  // namespace
}  // namespace bench

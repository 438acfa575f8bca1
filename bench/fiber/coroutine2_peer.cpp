// SPDX-License-Identifier: MIT
// Boost.Coroutine2 as contestant: asymmetric pull/push coroutines, run the way its documentation does.
#include <boost/coroutine2/coroutine.hpp>
#include <boost/coroutine2/pooled_fixedsize_stack.hpp>

#include "bench/fiber/ring.hpp"
#include "bench/fiber/sites.hpp"
#include "bench/harness.hpp"

namespace bench {
namespace {

namespace co = boost::coroutines2;
using Void = co::coroutine<void>;
using Int = co::coroutine<int>;

void resume_yield(Batch& batch) {
  Void::pull_type source([](Void::push_type& sink) {
    for (;;) sink();
  });
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) source();
  batch.stop();
}

void resume_yield_sites(Batch& batch) {
  Void::pull_type source([](Void::push_type& sink) {
    for (;;) yield_at_all_sites(sink);
  });
  batch.round_up_to(resume_sites);
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); i += resume_sites)
    resume_at_all_sites([&]() WEFT_BENCH_AT_SITE { source(); });
  batch.stop();
}

void resume_yield_value(Batch& batch) {
  Int::push_type sink([](Int::pull_type& source) {
    for (; source; source()) keep(source.get());
  });
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) sink(static_cast<int>(i));
  batch.stop();
}

void generator(Batch& batch) {
  const std::uint64_t n = batch.ops();
  batch.start();
  Int::pull_type source([n](Int::push_type& sink) {
    for (std::uint64_t i = 0; i < n; ++i) sink(static_cast<int>(i));
  });
  std::int64_t sum = 0;
  for (const int x : source) sum += x;
  batch.stop();
  keep(sum);
}

void create_run_destroy(Batch& batch) {
  co::pooled_fixedsize_stack stacks;
  int runs = 0;
  {
    Void::pull_type warm(stacks, [](Void::push_type&) {});
  }
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) Void::pull_type source(stacks, [&runs](Void::push_type&) { ++runs; });
  batch.stop();
  keep(runs);
}

template <std::size_t N>
void ring_of(Batch& batch) {
  co::pooled_fixedsize_stack stacks;
  ring<N>(
      batch,
      [&] {
        return Void::pull_type(stacks, [](Void::push_type& sink) {
          for (;;) sink();
        });
      },
      [](Void::pull_type& c) { c(); });
}

const Register entries[] = {
    Register(Contestant{"fiber", "resume_yield", "coroutine2", Side::peer, resume_yield}),
    Register(Contestant{"fiber", "resume_yield_sites", "coroutine2", Side::peer, resume_yield_sites}),
    Register(Contestant{"fiber", "resume_yield_value", "coroutine2", Side::peer, resume_yield_value}),
    Register(Contestant{"fiber", "generator", "coroutine2", Side::peer, generator}),
    Register(Contestant{"fiber", "create_run_destroy", "coroutine2", Side::peer, create_run_destroy}),
    Register(Contestant{"fiber", "ring_00064", "coroutine2", Side::peer, ring_of<64>}),
    Register(Contestant{"fiber", "ring_01000", "coroutine2", Side::peer, ring_of<1000>}),
    Register(Contestant{"fiber", "ring_10000", "coroutine2", Side::peer, ring_of<10000>}),
};

}  // namespace
}  // namespace bench

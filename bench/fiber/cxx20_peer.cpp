// SPDX-License-Identifier: MIT
// C++20 coroutines as contestant: stackless, one frame each; the lower limit of what a generator can cost.
#include "bench/fiber/cxx20_generator.hpp"
#include "bench/fiber/ring.hpp"
#include "bench/fiber/sites.hpp"
#include "bench/harness.hpp"

namespace bench {
namespace {

[[gnu::noinline]] CxxGenerator<int> count_to(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_yield static_cast<int>(i);
}

[[gnu::noinline]] CxxGenerator<int> for_ever() {
  for (;;) co_yield 0;
}

template <class Memory>
[[gnu::noinline]] CxxGenerator<int, Memory> once(int& runs) {
  ++runs;
  co_return;
}

void resume_yield(Batch& batch) {
  auto g = for_ever();
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) g.resume();
  batch.stop();
}

void generator(Batch& batch) {
  batch.start();
  std::int64_t sum = 0;
  for (const int x : count_to(batch.ops())) sum += x;
  batch.stop();
  keep(sum);
}

template <class Memory>
void create_run_destroy(Batch& batch) {
  int runs = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) once<Memory>(runs).resume();
  batch.stop();
  keep(runs);
}

template <std::size_t N>
void ring_of(Batch& batch) {
  ring<N>(batch, [] { return for_ever(); }, [](CxxGenerator<int>& g) { g.resume(); });
}

const Register entries[] = {
    Register(Contestant{"fiber", "resume_yield", "cxx20", Side::peer, resume_yield}),
    Register(Contestant{"fiber", "generator", "cxx20", Side::peer, generator}),
    Register(Contestant{"fiber", "create_run_destroy", "cxx20", Side::peer, create_run_destroy<FromHeap>}),
    Register(Contestant{"fiber", "create_run_destroy", "cxx20_pooled", Side::peer, create_run_destroy<FromPool>}),
    Register(Contestant{"fiber", "ring_00064", "cxx20", Side::peer, ring_of<64>}),
    Register(Contestant{"fiber", "ring_01000", "cxx20", Side::peer, ring_of<1000>}),
    Register(Contestant{"fiber", "ring_10000", "cxx20", Side::peer, ring_of<10000>}),
};

}  // namespace
}  // namespace bench

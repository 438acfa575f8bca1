// SPDX-License-Identifier: MIT
// Our fiber as contestant: its whole life, and protect, which is such a life with an error boundary around it.
#include <stdexcept>

#include "bench/harness.hpp"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"

namespace bench {
namespace {

void create_run_destroy(Batch& batch) {
  int runs = 0;
  weft::Fiber([] {}).resume();
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) {
    weft::Fiber f([&runs] { ++runs; });
    f.resume();
  }
  batch.stop();
  keep(runs);
}

[[gnu::noinline]] int succeed() {
  asm volatile("");
  return 1;
}

[[gnu::noinline]] int fail(bool really) {
  if (really) throw std::runtime_error("no");
  return 1;
}

void protect(Batch& batch) {
  std::uint64_t good = 0;
  keep(weft::protect([] { return succeed(); }).ok);
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) good += weft::protect([] { return succeed(); }).ok;
  batch.stop();
  keep(good);
}

void protect_throw(Batch& batch) {
  std::uint64_t bad = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) {
    bool really = true;
    asm volatile("" : "+r"(really));
    bad += !weft::protect([really] { return fail(really); }).ok;
  }
  batch.stop();
  if (bad != batch.ops()) throw std::logic_error("protect let an error through as success");
}

void protect_emit_error(Batch& batch) {
  std::uint64_t bad = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) bad += !weft::protect([] { weft::emit(weft::sig::error, 1); }).ok;
  batch.stop();
  if (bad != batch.ops()) throw std::logic_error("protect let an error through as success");
}

const Register entries[] = {
    Register(Contestant{"fiber", "create_run_destroy", "weft", Side::weft, create_run_destroy}),
    Register(Contestant{"fiber", "protect", "weft", Side::weft, protect}),
    Register(Contestant{"fiber", "protect", "weft_throw_inside", Side::weft, protect_throw}),
    Register(Contestant{"fiber", "protect", "weft_emit_error_inside", Side::weft, protect_emit_error}),
};

}  // namespace
}  // namespace bench

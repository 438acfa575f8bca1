// SPDX-License-Identifier: MIT
// What protect is compared with: an exception thrown in a called function and caught by its caller.
#include <stdexcept>

#include "bench/harness.hpp"

namespace bench {
namespace {

[[gnu::noinline]] void fail_with_int(bool really) {
  if (really) throw 1;
}
[[gnu::noinline]] void fail_with_runtime_error(bool really) {
  if (really) throw std::runtime_error("no");
}
[[gnu::noinline]] int succeed() {
  asm volatile("");
  return 1;
}

void throw_int(Batch& batch) {
  bool really = true;
  int caught = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) {
    asm volatile("" : "+r"(really));
    try {
      fail_with_int(really);
    } catch (int n) {
      caught += n;
    }
  }
  batch.stop();
  keep(caught);
}

void throw_runtime_error(Batch& batch) {
  bool really = true;
  int caught = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) {
    asm volatile("" : "+r"(really));
    try {
      fail_with_runtime_error(really);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  batch.stop();
  keep(caught);
}

void plain_call(Batch& batch) {
  int sum = 0;
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) sum += succeed();
  batch.stop();
  keep(sum);
}

const Register entries[] = {
    Register(Contestant{"fiber", "protect", "throw_catch_int", Side::plain, throw_int}),
    Register(Contestant{"fiber", "protect", "throw_catch_runtime_error", Side::plain, throw_runtime_error}),
    Register(Contestant{"fiber", "protect", "plain_call", Side::plain, plain_call}),
};

}  // namespace
}  // namespace bench

// SPDX-License-Identifier: MIT
// Which ways workers take depends on the fences that the system gives. cmake/WeftPrograms.cmake runs this whole suite
// and that of task once more where membarrier is refused.
#include <cstdlib>
#include <string_view>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/detail/seam.hpp"

using namespace weft;
using namespace weft_test;

TEST_CASE("runtime: workers take the short ways only where fences are asymmetric [B46]") {
  RuntimeOptions options = with_workers(2);
  options.spec_assert = false;
  Runtime runtime(options);
  const char* call = std::getenv("WEFT_TEST_REFUSED");
  if (call != nullptr && std::string_view(call) == "membarrier") CHECK(seam::fence_kind() == seam::FenceKind::real);
  const bool asymmetric = seam::fence_kind() == seam::FenceKind::asymmetric;
  for (unsigned i = 0; i < 2; ++i) {
    const detail::Worker& worker = runtime.core().worker(i);
    CHECK(worker.flat == (worker.in_place && asymmetric));
    CHECK(worker.plain == (worker.own_queues && !worker.watched && asymmetric));
  }
}

// SPDX-License-Identifier: MIT
// What: N contexts resumed round robin; what is measured is one hop, with N stacks competing for the caches.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/harness.hpp"

namespace bench {

template <std::size_t N, class Make, class Resume>
void ring(Batch& batch, Make&& make, Resume&& resume) {
  std::vector<decltype(make())> contexts;
  contexts.reserve(N);
  for (std::size_t i = 0; i < N; ++i) contexts.push_back(make());
  for (auto& c : contexts) resume(c);
  batch.round_up_to(N);
  const std::uint64_t rounds = batch.ops() / N;
  batch.start();
  for (std::uint64_t r = 0; r < rounds; ++r)
    for (auto& c : contexts) resume(c);
  batch.stop();
}

}  // namespace bench

// SPDX-License-Identifier: MIT
// What: differing call sites. A switch that leaves by `ret`, or one indirect jump shared by all, predicts well with a
// single resume site and a single yield site and badly otherwise. Eight resume sites against seven yield sites (four
// ways to yield, in a pattern) meet in all 56 pairs before they repeat.
#pragma once

namespace bench {

template <int Site>
[[gnu::always_inline]] inline void mark_site() {
  asm volatile("# site %c0" : : "i"(Site) : "memory");  // keeps the compiler from folding two sites into one
}

inline constexpr int resume_sites = 8;

// Lambdas that stand for "the code at this call site" must be copied into each site, not shared by all of them.
#define WEFT_BENCH_AT_SITE __attribute__((always_inline))

template <class Resume>
[[gnu::always_inline]] inline void resume_at_all_sites(Resume&& resume) {
  mark_site<0>(), resume();
  mark_site<1>(), resume();
  mark_site<2>(), resume();
  mark_site<3>(), resume();
  mark_site<4>(), resume();
  mark_site<5>(), resume();
  mark_site<6>(), resume();
  mark_site<7>(), resume();
}

template <int Site, class Yield>
[[gnu::noinline]] void yield_at_site(Yield& yield) {
  mark_site<Site>(), yield(), mark_site<Site>();
}

template <class Yield>
[[gnu::always_inline]] inline void yield_at_all_sites(Yield&& yield) {
  yield_at_site<10>(yield);
  yield_at_site<11>(yield);
  yield_at_site<12>(yield);
  yield_at_site<13>(yield);
  yield_at_site<11>(yield);
  yield_at_site<10>(yield);
  yield_at_site<13>(yield);
}

}  // namespace bench

// SPDX-License-Identifier: MIT
// Floating-point control words of fibers that ask for their own: N-005, B28.
#include <cfenv>
#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/lane.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using weft_test::Lane;

namespace {

struct Words {
  std::uint32_t control = 0;  // mxcsr without its status flags, or fpcr
  std::uint32_t x87 = 0;
  friend bool operator==(const Words&, const Words&) = default;
};

Words words_now() {
  Words words;
#if defined(__x86_64__)
  std::uint32_t mxcsr;
  std::uint16_t x87;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  asm volatile("fnstcw %0" : "=m"(x87));
  words.control = mxcsr & ~0x3fu;
  words.x87 = x87;
#elif defined(__aarch64__)
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  words.control = static_cast<std::uint32_t>(fpcr);
#endif
  return words;
}

#if defined(__x86_64__)
constexpr Words fresh_words{0x1f80, 0x37f};
#else
constexpr Words fresh_words{0, 0};
#endif

// The rounding that the hardware really applies.
int rounding() {
  volatile double one = 1.0;
  volatile double three = 3.0;
  const volatile double up = one / three;
  const volatile double down = -one / three;
  const double sum = up + down;
  if (sum > 0) return FE_UPWARD;
  if (sum < 0) return FE_DOWNWARD;
  return std::fegetround();
}

// Whatever a test does to the words of this thread ends with it.
struct Restore {
  Restore() { std::fegetenv(&before); }
  ~Restore() { std::fesetenv(&before); }
  std::fenv_t before;
};

const FiberOptions own{.fp_words = true};

}  // namespace

TEST_CASE("fp: a fresh fiber with words of its own starts with the defaults, whatever its maker had [N-005] [B28]") {
  const Restore restore;
  std::fesetround(FE_UPWARD);
  Fiber f([] { return words_now(); }, "y", own);
  CHECK(f.resume().value.as<Words>() == fresh_words);
  CHECK(rounding() == FE_UPWARD);
}

TEST_CASE("fp: rounding set in one fiber is not seen in others nor by the resumer [N-005] [B28]") {
  const Restore restore;
  Fiber up(
      [] {
        std::fesetround(FE_UPWARD);
        yield(rounding());
        return rounding();
      },
      "y", own);
  Fiber down(
      [] {
        std::fesetround(FE_DOWNWARD);
        yield(rounding());
        return rounding();
      },
      "y", own);
  Fiber plain([] {
    yield(rounding());
    return rounding();
  });
  CHECK(up.resume().value.as<int>() == FE_UPWARD);
  CHECK(rounding() == FE_TONEAREST);
  CHECK(down.resume().value.as<int>() == FE_DOWNWARD);
  CHECK(plain.resume().value.as<int>() == FE_TONEAREST);
  CHECK(up.resume().value.as<int>() == FE_UPWARD);
  CHECK(down.resume().value.as<int>() == FE_DOWNWARD);
  CHECK(plain.resume().value.as<int>() == FE_TONEAREST);
  CHECK(words_now() == fresh_words);
}

TEST_CASE("fp: a stack used again starts with the defaults again [N-005] [HC5]") {
  const Restore restore;
  for (int i = 0; i < 5; ++i) {
    Fiber f(
        [] {
          const bool fresh = words_now() == fresh_words;
          std::fesetround(FE_TOWARDZERO);
          return fresh;
        },
        "y", own);
    CHECK(f.resume().value.as<bool>());
  }
  CHECK(words_now() == fresh_words);
}

TEST_CASE("fp: a domain is the fiber and what it resumes; domains nest [N-005] [B28]") {
  const Restore restore;
  std::vector<int> seen;
  Fiber outer(
      [&] {
        std::fesetround(FE_UPWARD);
        Fiber plain([&] {
          seen.push_back(rounding());  // the outer domain's
          yield();
          seen.push_back(rounding());
        });
        Fiber inner(
            [&] {
              seen.push_back(rounding());
              std::fesetround(FE_DOWNWARD);
              yield();
              seen.push_back(rounding());
            },
            "y", own);
        plain.resume();
        inner.resume();
        seen.push_back(rounding());
        yield();
        plain.resume();
        inner.resume();
        seen.push_back(rounding());
      },
      "y", own);
  outer.resume();
  CHECK(rounding() == FE_TONEAREST);
  outer.resume();
  CHECK(rounding() == FE_TONEAREST);
  CHECK(seen == std::vector<int>{FE_UPWARD, FE_TONEAREST, FE_UPWARD, FE_UPWARD, FE_DOWNWARD, FE_UPWARD});
}

TEST_CASE("fp: a signal that passes through domains freezes and thaws each with its own words [N-005] [B28]") {
  const Restore restore;
  std::vector<int> seen;
  Fiber outer(
      [&] {
        std::fesetround(FE_UPWARD);
        Fiber inner(
            [&] {
              std::fesetround(FE_DOWNWARD);
              emit(sig::user(5));
              seen.push_back(rounding());
            },
            "y", own);
        inner.resume();
        seen.push_back(rounding());
      },
      "5", own);
  outer.resume();
  CHECK(rounding() == FE_TONEAREST);
  std::fesetround(FE_TOWARDZERO);
  outer.resume();
  CHECK(std::fegetround() == FE_TOWARDZERO);
  CHECK(seen == std::vector<int>{FE_DOWNWARD, FE_UPWARD});
}

TEST_CASE("fp: a kill unwinds with the fiber's own words and gives back the killer's [N-005] [B28]") {
  const Restore restore;
  int seen = -1;
  struct Look {
    int* seen;
    ~Look() { *seen = rounding(); }
  };
  Fiber f(
      [&] {
        const Look look{&seen};
        std::fesetround(FE_UPWARD);
        yield();
      },
      "y", own);
  f.resume();
  f.kill();
  CHECK(seen == FE_UPWARD);
  CHECK(rounding() == FE_TONEAREST);
}

TEST_CASE("fp: an error that leaves a fiber with words of its own leaves them behind [N-005]") {
  const Restore restore;
  Fiber f(
      [] {
        std::fesetround(FE_UPWARD);
        throw 1;
      },
      "y", own);
  CHECK_THROWS_AS(f.resume(), int);
  CHECK(rounding() == FE_TONEAREST);
}

TEST_CASE("fp: the words go with the fiber to another thread [N-005] [B28]") {
  const Restore restore;
  Lane lanes[2];
  Fiber f(
      [] {
        std::fesetround(FE_UPWARD);
        for (int i = 0; i < 20; ++i) yield(rounding());
      },
      "y", own);
  int wrong = 0;
  for (std::size_t i = 0; i < 20; ++i)
    lanes[i % 2].run([&] { wrong += f.resume().value.as<int>() != FE_UPWARD || rounding() != FE_TONEAREST; });
  CHECK(wrong == 0);
}

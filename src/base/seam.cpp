// SPDX-License-Identifier: MIT
#include "weft/detail/seam.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>

#include "base/sys.hpp"

namespace weft::inline v0::seam {

namespace sys = detail::sys;

namespace real {

std::atomic<int> fence_phase{0};

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

timespec to_timespec(std::int64_t ns) noexcept {
  return {static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
}

[[noreturn]] void die(const char* message, std::size_t length) noexcept {
  sys::write(2, message, length);
  std::abort();
}

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // cannot fail with a valid clock and pointer: errno stays untouched
  return static_cast<std::int64_t>(now.tv_sec) * second_ns + now.tv_nsec;
}

std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  if (sys::getrandom(&seed, sizeof seed, 0) == static_cast<long>(sizeof seed)) return seed;
  // No entropy call (old kernel, seccomp): time, pid and the stack's random address are all there is.
  seed = static_cast<std::uint64_t>(monotonic_ns()) ^ (static_cast<std::uint64_t>(sys::getpid()) << 32U) ^
         reinterpret_cast<std::uintptr_t>(&seed);
  seed *= 0x9E3779B97F4A7C15U;
  return seed ^ (seed >> 29U);
}

void heavy_fence() noexcept {
  fence(std::memory_order_seq_cst);
  if (fence_phase.load(std::memory_order_acquire) == 0) return;
  if (sys::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  if (fence_phase.load(std::memory_order_acquire) == 1) return;  // both sides still have real fences
  // The light side relies on us already; going on would be a silent race [SEAM-2].
  constexpr char message[] = "weft: membarrier worked at start and fails now; asymmetric fences cannot be kept\n";
  die(message, sizeof message - 1);
}

void yield_thread() noexcept {
  sys::sched_yield();
}

void sleep_ns(std::int64_t ns) noexcept {
  const timespec duration = to_timespec(ns > 0 ? ns : 0);
  sys::nanosleep(&duration);
}

WaitResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline) noexcept {
  const timespec until = to_timespec(deadline > 0 ? deadline : 0);
  const long result = sys::futex_wait(&word, expected, deadline == no_deadline ? nullptr : &until);
  switch (sys::error_of(result)) {
    case EAGAIN:
      return WaitResult::changed;
    case ETIMEDOUT:
      return WaitResult::timed_out;
    default:
      return WaitResult::woken;
  }
}

int futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
  const long woken = sys::futex_wake(&word, count);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

void name_this_thread(const char* name) noexcept {
  char short_name[16] = {};  // the kernel's limit, with the final zero
  for (std::size_t i = 0; i + 1 < sizeof short_name && name[i] != '\0'; ++i) short_name[i] = name[i];
  pthread_setname_np(pthread_self(), short_name);
}

}  // namespace real

bool enable_asymmetric_fences() noexcept {
  if (real::fence_phase.load(std::memory_order_acquire) == 2) return true;
  if (sys::membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0) return false;
  if (sys::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) return false;
  // Two steps: no light fence may become free while a heavy fence that read phase 0 is still under way. The barrier
  // between them makes that fence's earlier stores visible to whoever reads phase 2.
  int off = 0;
  real::fence_phase.compare_exchange_strong(off, 1, std::memory_order_seq_cst);
  if (sys::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) return false;
  real::fence_phase.store(2, std::memory_order_seq_cst);
  return true;
}

FenceKind fence_kind() noexcept {
  return real::fence_phase.load(std::memory_order_acquire) == 2 ? FenceKind::asymmetric : FenceKind::real;
}

}  // namespace weft::inline v0::seam

// SPDX-License-Identifier: MIT
#include "bench/allocations.hpp"

#include <errno.h>
#include <stddef.h>

#include <atomic>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_BENCH_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_BENCH_COUNTS 0
#endif
#endif
#if !defined(WEFT_BENCH_COUNTS)
#if defined(__GLIBC__)
#define WEFT_BENCH_COUNTS 1
#else
#define WEFT_BENCH_COUNTS 0
#endif
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> count{0};

[[maybe_unused]] inline void counted() {
  if (counting.load(std::memory_order_relaxed)) [[unlikely]]
    count.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

namespace bench {
bool allocations_are_counted() {
  return WEFT_BENCH_COUNTS != 0;
}
void start_counting_allocations() {
  count.store(0);
  counting.store(true);
}
std::uint64_t stop_counting_allocations() {
  counting.store(false);
  return count.load();
}
}  // namespace bench

#if WEFT_BENCH_COUNTS
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept {
  counted();
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) noexcept {
  counted();
  return __libc_calloc(n, size);
}
void* realloc(void* old, size_t size) noexcept {
  counted();
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  counted();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  counted();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  counted();
  void* p = __libc_memalign(alignment, size);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
}
#endif

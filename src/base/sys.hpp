// SPDX-License-Identifier: MIT
#pragma once
// What: the syscall seam. Every syscall of the runtime goes through invoke(), which a test may intercept to inject
//   faults or to record. A result in [-4095, -1] is the negated errno; errno itself is never written nor read.
// Invariants:
//   [SYS-1] No call touches errno, so a caller may be suspended and resumed on another thread around it.
//   [SYS-2] Without an interceptor a call costs one relaxed load more than the bare syscall.
// Threads: any; set_interceptor is for tests, before the threads that it shall see start. Async-signal-safe.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

struct timespec;
struct pollfd;
struct epoll_event;

namespace weft::inline v0::detail::sys {

struct Call {
  long number;  // SYS_xxx
  long args[6];
};

// Returns true if it answered the call itself and wrote *result.
using Interceptor = bool (*)(const Call& call, long* result, void* context);
void set_interceptor(Interceptor interceptor, void* context) noexcept;  // nullptr: none

constexpr bool is_error(long result) noexcept {
  return result < 0 && result >= -4095;
}
constexpr int error_of(long result) noexcept {
  return is_error(result) ? static_cast<int>(-result) : 0;
}

long invoke(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept;

// The address, or an error (see is_error).
long mmap(void* address, std::size_t length, int protection, int flags, int fd = -1, off_t offset = 0) noexcept;
long munmap(void* address, std::size_t length) noexcept;
long mprotect(void* address, std::size_t length, int protection) noexcept;
long madvise(void* address, std::size_t length, int advice) noexcept;
long membarrier(int command, unsigned flags = 0) noexcept;
// deadline: absolute CLOCK_MONOTONIC, or nullptr.
long futex_wait(const void* word, std::uint32_t expected, const timespec* deadline) noexcept;
long futex_wake(const void* word, int count) noexcept;
long getrandom(void* buffer, std::size_t length, unsigned flags) noexcept;
long sched_yield() noexcept;
long nanosleep(const timespec* duration) noexcept;
long open(const char* path, int flags, unsigned mode = 0) noexcept;
long close(int fd) noexcept;
long read(int fd, void* buffer, std::size_t length) noexcept;
long write(int fd, const void* buffer, std::size_t length) noexcept;
bool write_all(int fd, std::string_view text) noexcept;  // goes on after short writes and EINTR
long fcntl(int fd, int command, long argument) noexcept;
long pipe(int* ends, int flags) noexcept;
// span: relative, or nullptr.
long ppoll(pollfd* fds, std::size_t count, const timespec* span) noexcept;
long eventfd(unsigned count, int flags) noexcept;
long epoll_create(int flags) noexcept;
long epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept;
long epoll_wait(int epoll, epoll_event* events, int count, int timeout_ms) noexcept;
long epoll_wait_for(int epoll, epoll_event* events, int count, const timespec* span) noexcept;  // ENOSYS before 5.11
long gettid() noexcept;
long getpid() noexcept;

}  // namespace weft::inline v0::detail::sys

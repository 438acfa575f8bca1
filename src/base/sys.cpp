// SPDX-License-Identifier: MIT
// Relaxed: the interceptor is set before the threads that shall see it start.
#include "base/sys.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cerrno>

#include "base/in_handler.hpp"

namespace weft::inline v0::detail::sys {
namespace {

// Written by set_interceptor only; the context is written before the function, read after it.
std::atomic<Interceptor> interceptor_function{nullptr};
std::atomic<void*> interceptor_context{nullptr};

// The bare instruction: libc's syscall() would go through errno [SYS-1].
long enter_kernel(const Call& call) noexcept {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = call.args[3];
  register long r8 __asm__("r8") = call.args[4];
  register long r9 __asm__("r9") = call.args[5];
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(call.number), "D"(call.args[0]), "S"(call.args[1]), "d"(call.args[2]), "r"(r10), "r"(r8),
                     "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = call.number;
  register long x0 __asm__("x0") = call.args[0];
  register long x1 __asm__("x1") = call.args[1];
  register long x2 __asm__("x2") = call.args[2];
  register long x3 __asm__("x3") = call.args[3];
  register long x4 __asm__("x4") = call.args[4];
  register long x5 __asm__("x5") = call.args[5];
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "weft knows the syscall instruction of x86-64 and aarch64 only"
#endif
}

bool intercepted(const Call& call, long* result) noexcept {
  const Interceptor function = interceptor_function.load(std::memory_order_acquire);
  return function != nullptr && function(call, result, interceptor_context.load(std::memory_order_relaxed));
}

template <class P>
long word(P* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

}  // namespace

void set_interceptor(Interceptor interceptor, void* context) noexcept {
  interceptor_function.store(nullptr, std::memory_order_release);
  interceptor_context.store(context, std::memory_order_relaxed);
  interceptor_function.store(interceptor, std::memory_order_release);
}

WEFT_IN_HANDLER long invoke(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const Call call{number, {a, b, c, d, e, f}};
  long result = 0;
  if (intercepted(call, &result)) return result;
  return enter_kernel(call);
}

long mmap(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  if constexpr (sanitized) {  // the sanitizers must see mappings come and go, so libc's function is asked there
    const Call call{SYS_mmap, {word(address), static_cast<long>(length), protection, flags, fd, offset}};
    long result = 0;
    if (intercepted(call, &result)) return result;
    const int saved = errno;
    void* mapped = ::mmap(address, length, protection, flags, fd, offset);
    result = mapped == MAP_FAILED ? -errno : word(mapped);
    errno = saved;
    return result;
  }
  return invoke(SYS_mmap, word(address), static_cast<long>(length), protection, flags, fd, offset);
}

long munmap(void* address, std::size_t length) noexcept {
  if constexpr (sanitized) {
    const Call call{SYS_munmap, {word(address), static_cast<long>(length), 0, 0, 0, 0}};
    long result = 0;
    if (intercepted(call, &result)) return result;
    const int saved = errno;
    result = ::munmap(address, length) == 0 ? 0 : -errno;
    errno = saved;
    return result;
  }
  return invoke(SYS_munmap, word(address), static_cast<long>(length));
}

long mprotect(void* address, std::size_t length, int protection) noexcept {
  return invoke(SYS_mprotect, word(address), static_cast<long>(length), protection);
}

long madvise(void* address, std::size_t length, int advice) noexcept {
  return invoke(SYS_madvise, word(address), static_cast<long>(length), advice);
}

long membarrier(int command, unsigned flags) noexcept {
  return invoke(SYS_membarrier, command, static_cast<long>(flags), 0);
}

long futex_wait(const void* futex, std::uint32_t expected, const timespec* deadline) noexcept {
  // The bitset form, because its timeout is absolute.
  return invoke(SYS_futex, word(futex), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, static_cast<long>(expected),
                word(deadline), 0, static_cast<long>(FUTEX_BITSET_MATCH_ANY));
}

long futex_wake(const void* futex, int count) noexcept {
  return invoke(SYS_futex, word(futex), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count);
}

long getrandom(void* buffer, std::size_t length, unsigned flags) noexcept {
  return invoke(SYS_getrandom, word(buffer), static_cast<long>(length), static_cast<long>(flags));
}

long sched_yield() noexcept {
  return invoke(SYS_sched_yield);
}

long nanosleep(const timespec* duration) noexcept {
  return invoke(SYS_nanosleep, word(duration), 0);
}

long open(const char* path, int flags, unsigned mode) noexcept {
  return invoke(SYS_openat, AT_FDCWD, word(path), flags, static_cast<long>(mode));
}

long close(int fd) noexcept {
  return invoke(SYS_close, fd);
}

long read(int fd, void* buffer, std::size_t length) noexcept {
  return invoke(SYS_read, fd, word(buffer), static_cast<long>(length));
}

long write(int fd, const void* buffer, std::size_t length) noexcept {
  return invoke(SYS_write, fd, word(buffer), static_cast<long>(length));
}

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const long n = write(fd, text.data(), text.size());
    if (is_error(n) && error_of(n) == EINTR) continue;
    if (is_error(n)) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

long fcntl(int fd, int command, long argument) noexcept {
  return invoke(SYS_fcntl, fd, command, argument);
}

long pipe(int* ends, int flags) noexcept {
  return invoke(SYS_pipe2, word(ends), flags);
}

long ppoll(pollfd* fds, std::size_t count, const timespec* span) noexcept {
  timespec left{};  // the kernel writes what is left of it
  if (span != nullptr) left = *span;
  return invoke(SYS_ppoll, word(fds), static_cast<long>(count), span != nullptr ? word(&left) : 0, 0, 0);
}

long eventfd(unsigned count, int flags) noexcept {
  return invoke(SYS_eventfd2, static_cast<long>(count), flags);
}

long epoll_create(int flags) noexcept {
  return invoke(SYS_epoll_create1, flags);
}

long epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  return invoke(SYS_epoll_ctl, epoll, operation, fd, word(event));
}

long epoll_wait(int epoll, epoll_event* events, int count, int timeout_ms) noexcept {
  return invoke(SYS_epoll_pwait, epoll, word(events), count, timeout_ms, 0, 8);
}

long epoll_wait_for(int epoll, epoll_event* events, int count, const timespec* span) noexcept {
  return invoke(SYS_epoll_pwait2, epoll, word(events), count, word(span), 0, 8);
}

long gettid() noexcept {
  return invoke(SYS_gettid);
}

long getpid() noexcept {
  return invoke(SYS_getpid);
}

}  // namespace weft::inline v0::detail::sys

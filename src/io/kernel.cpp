// SPDX-License-Identifier: MIT
#include "io/kernel.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/sys.hpp"
#include "io/spawn_plan.hpp"

namespace weft::inline v0 {

const char* to_string(IoOp op) {
  static constexpr const char* names[] = {
      "poll",  "read",   "write", "read_at", "write_at", "recv",  "send",   "accept", "connect",  "shutdown",
      "close", "open",   "sync",  "size",    "truncate", "list",  "remove", "rename", "make_dir", "socket",
      "bind",  "listen", "name",  "option",  "pair",     "spawn", "task",   "resolve"};
  const auto index = static_cast<std::size_t>(op);
  return index < std::size(names) ? names[index] : "?";
}

}  // namespace weft::inline v0

namespace weft::inline v0::detail {
namespace {

static_assert(sizeof(IoSlice) == sizeof(iovec) && offsetof(IoSlice, data) == offsetof(iovec, iov_base) &&
              offsetof(IoSlice, size) == offsetof(iovec, iov_len));

long as_long(const volatile void* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}
long as_long(std::size_t number) {
  return static_cast<long>(number);
}

// Slices, or the one piece of data as a slice.
struct Pieces {
  explicit Pieces(const IoRequest& r) : one{r.data, r.size} {
    first = r.slices != nullptr ? r.slices : &one;
    count = r.slices != nullptr ? std::min<std::size_t>(r.count, most) : 1;
  }
  static constexpr std::size_t most = 1024;  // the kernel's limit
  IoSlice one;
  const IoSlice* first;
  std::size_t count;
};

[[gnu::noinline]] long transfer(const IoRequest& r) {
  const bool reads = r.op == IoOp::read || r.op == IoOp::read_at;
  const bool at = r.op == IoOp::read_at || r.op == IoOp::write_at;
  if (r.slices == nullptr) {
    if (at) return sys::invoke(reads ? SYS_pread64 : SYS_pwrite64, r.fd, as_long(r.data), as_long(r.size), r.offset);
    return sys::invoke(reads ? SYS_read : SYS_write, r.fd, as_long(r.data), as_long(r.size));
  }
  const Pieces pieces(r);
  if (at)
    return sys::invoke(reads ? SYS_preadv : SYS_pwritev, r.fd, as_long(pieces.first), as_long(pieces.count), r.offset);
  return sys::invoke(reads ? SYS_readv : SYS_writev, r.fd, as_long(pieces.first), as_long(pieces.count));
}

// Those with much on the stack are no part of call_kernel's frame: a server has one on each of its stacks.
[[gnu::noinline]] long message_of_slices(const IoRequest& r, bool sends, std::uint32_t flags) {
  const Pieces pieces(r);
  msghdr header{};
  header.msg_name = r.address;
  header.msg_namelen = r.address != nullptr ? *r.address_size : 0;
  header.msg_iov = reinterpret_cast<iovec*>(const_cast<IoSlice*>(pieces.first));
  header.msg_iovlen = pieces.count;
  const long n = sys::invoke(sends ? SYS_sendmsg : SYS_recvmsg, r.fd, as_long(&header), static_cast<long>(flags));
  if (!sends && r.address != nullptr) *r.address_size = header.msg_namelen;
  return n;
}

long message(const IoRequest& r) {
  const bool sends = r.op == IoOp::send;
  const std::uint32_t flags = r.flags | MSG_DONTWAIT | (sends ? MSG_NOSIGNAL : 0);
  if (r.slices == nullptr) {
    const long size = !sends ? as_long(r.address_size) : r.address != nullptr ? long{*r.address_size} : 0;
    return sys::invoke(sends ? SYS_sendto : SYS_recvfrom, r.fd, as_long(r.data), as_long(r.size),
                       static_cast<long>(flags), as_long(r.address), size);
  }
  return message_of_slices(r, sends, flags);
}

[[gnu::noinline]] long file_size(int fd) {
  struct statx about{};
  const long n = sys::invoke(SYS_statx, fd, as_long(""), AT_EMPTY_PATH, STATX_SIZE, as_long(&about));
  return sys::is_error(n) ? n : static_cast<long>(about.stx_size);
}

}  // namespace

long call_kernel(const IoRequest& r) noexcept {
  switch (r.op) {
    case IoOp::poll:
      return ready_now(r.fd, r.flags);
    case IoOp::read:
    case IoOp::write:
    case IoOp::read_at:
    case IoOp::write_at:
      return transfer(r);
    case IoOp::recv:
    case IoOp::send:
      return message(r);
    case IoOp::accept:
      return sys::invoke(SYS_accept4, r.fd, as_long(r.address), as_long(r.address_size),
                         static_cast<long>(r.flags | SOCK_CLOEXEC));
    case IoOp::connect:
      return sys::invoke(SYS_connect, r.fd, as_long(r.address), long{*r.address_size});
    case IoOp::shutdown:
      return sys::invoke(SYS_shutdown, r.fd, r.flags);
    case IoOp::close:
      return sys::close(r.fd);
    case IoOp::open:
      return sys::open(r.path, static_cast<int>(r.flags | O_CLOEXEC), r.mode);
    case IoOp::sync:
      return sys::invoke(r.flags & 1 ? SYS_fdatasync : SYS_fsync, r.fd);
    case IoOp::size:
      return file_size(r.fd);
    case IoOp::truncate:
      return sys::invoke(SYS_ftruncate, r.fd, r.offset);
    case IoOp::list:
      return sys::invoke(SYS_getdents64, r.fd, as_long(r.data), as_long(r.size));
    case IoOp::remove:
      return sys::invoke(SYS_unlinkat, AT_FDCWD, as_long(r.path), r.flags & 1 ? AT_REMOVEDIR : 0);
    case IoOp::rename:
      return sys::invoke(SYS_renameat2, AT_FDCWD, as_long(r.path), AT_FDCWD, as_long(r.to), 0);
    case IoOp::make_dir:
      return sys::invoke(SYS_mkdirat, AT_FDCWD, as_long(r.path), r.mode);
    case IoOp::socket:
      return sys::invoke(SYS_socket, r.flags, static_cast<long>(r.mode | SOCK_CLOEXEC), r.offset);
    case IoOp::bind:
      return sys::invoke(SYS_bind, r.fd, as_long(r.address), long{*r.address_size});
    case IoOp::listen:
      return sys::invoke(SYS_listen, r.fd, r.flags);
    case IoOp::name:
      return sys::invoke(r.flags & 1 ? SYS_getpeername : SYS_getsockname, r.fd, as_long(r.address),
                         as_long(r.address_size));
    case IoOp::option:
      return sys::invoke(SYS_setsockopt, r.fd, r.flags, r.mode, as_long(r.data), as_long(r.size));
    case IoOp::pair:
      if (r.flags == 0) return sys::pipe(static_cast<int*>(r.data), O_CLOEXEC | O_NONBLOCK);
      return sys::invoke(SYS_socketpair, r.flags, SOCK_STREAM | SOCK_CLOEXEC, 0, as_long(r.data));
    case IoOp::spawn:
      return spawn_child(*static_cast<const SpawnPlan*>(r.data));
    case IoOp::resolve:  // nothing for the kernel, as the next one,
    case IoOp::task:     // which is a question to who intercepts
      return -EINVAL;
  }
  return -EINVAL;
}

bool is_tcp(int fd) noexcept {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  const long n = sys::invoke(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, as_long(&protocol), as_long(&size));
  return n == 0 && protocol == IPPROTO_TCP;
}

long connect_outcome(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  const long n = sys::invoke(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, as_long(&error), as_long(&size));
  return sys::is_error(n) ? n : -long{error};
}

[[gnu::noinline]] long ready_now(int fd, std::uint32_t want) noexcept {
  pollfd one{fd, events_of(want), 0};
  const timespec none{};
  long n = 0;
  do {
    n = sys::ppoll(&one, 1, &none);
  } while (n == -EINTR);
  if (sys::is_error(n)) return n;
  if (one.revents & POLLNVAL) return -EBADF;
  if (one.revents == 0) return -EAGAIN;
  return static_cast<long>(ready_of(one.revents));
}

short events_of(std::uint32_t ready) {
  return static_cast<short>((ready & io_readable ? POLLIN | POLLRDHUP : 0) | (ready & io_writable ? POLLOUT : 0));
}

namespace {

std::uint32_t ready_bits(bool in, bool out, bool hung_up, bool ended) {
  std::uint32_t ready = 0;
  if (in || ended) ready |= io_readable;
  if (out || ended) ready |= io_writable;
  if (hung_up || ended) ready |= io_hung_up;
  return ready;
}

}  // namespace

std::uint32_t ready_of(short events) {
  return ready_bits((events & (POLLIN | POLLRDHUP)) != 0, (events & POLLOUT) != 0, (events & POLLRDHUP) != 0,
                    (events & (POLLHUP | POLLERR)) != 0);
}

std::uint32_t ready_of_epoll(std::uint32_t events) {
  // Urgent data cuts a read short, as the end does.
  return ready_bits((events & (EPOLLIN | EPOLLRDHUP)) != 0, (events & EPOLLOUT) != 0,
                    (events & (EPOLLRDHUP | EPOLLPRI)) != 0, (events & (EPOLLHUP | EPOLLERR)) != 0);
}

const timespec* span_until(std::int64_t deadline, timespec& span) {
  if (deadline == seam::no_deadline) return nullptr;
  const std::int64_t left = std::max<std::int64_t>(deadline - seam::monotonic_ns(), 0);
  span = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  return &span;
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// Relaxed: see the header.
#include "weft/detail/descriptor.hpp"

#include <new>
#include <string>

#include "base/sys.hpp"
#include "io/fd_table.hpp"

namespace weft::inline v0::detail {

Descriptor::Descriptor(int fd, FdKind kind) {
  const std::uint32_t issue = adopt_fd(fd, kind);
  if (issue == 0) {
    (void)sys::close(fd);
    throw std::bad_alloc();
  }
  mark_.store(std::uint64_t{issue} << 32 | static_cast<std::uint32_t>(fd), std::memory_order_relaxed);
}

Descriptor& Descriptor::operator=(Descriptor&& from) noexcept {
  if (this == &from) return *this;
  (void)close();
  mark_.store(from.mark_.exchange(none, std::memory_order_relaxed), std::memory_order_relaxed);
  return *this;
}

Descriptor::~Descriptor() {
  (void)close();
}

IoRequest Descriptor::request(IoOp op) const {
  IoRequest request;
  const std::uint64_t now = mark();
  request.op = op;
  request.fd = static_cast<int>(static_cast<std::uint32_t>(now));
  request.issue = static_cast<std::uint32_t>(now >> 32);
  return request;
}

IoResult Descriptor::close() noexcept {
  IoRequest request = this->request(IoOp::close);
  if (request.issue == 0) return IoResult::failed(EBADF);
  std::uint64_t now = std::uint64_t{request.issue} << 32 | static_cast<std::uint32_t>(request.fd);
  if (!mark_.compare_exchange_strong(now, none, std::memory_order_relaxed)) return IoResult::failed(EBADF);
  request.quiet = true;
  try {
    return perform_io(request);
  } catch (...) {
    return IoResult::failed(EIO);  // an interceptor's
  }
}

std::size_t checked(IoResult result, const char* what) {
  if (!result.ok()) throw_os_error(result.os_error(), what);
  return result.count();
}

void throw_os_error(int os_error, const char* what) {
  throw std::system_error(os_error, std::system_category(), what);
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: a file descriptor that is ours, with the issue that tells it from the next use of its number.
//
// close() may be called while others wait in operations on it: they end with EBADF, and the number goes back to the
// kernel with the last of them. Destroying it while others use the object itself is the caller's mistake, as ever.
// Threads: operations any; close any; moving and destroying one at a time.
#pragma once

#include <cstdint>
#include <utility>

#include "weft/detail/seam.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// What is said when a descriptor is adopted.
enum FdKind : std::uint8_t {
  fd_plain,
  fd_stream,  // a short transfer means that there is no more, most likely
  fd_tcp,     // a short read means so, says the kernel, but for urgent data
};

class Descriptor {
 public:
  Descriptor() = default;
  // Takes over a descriptor that is non-blocking, if it can be. Throws std::bad_alloc, and closes it then.
  Descriptor(int fd, FdKind kind);
  Descriptor(Descriptor&& from) noexcept
      : mark_(from.mark_.exchange(none, std::memory_order_relaxed)) {}  // relaxed: moved by one at a time
  Descriptor& operator=(Descriptor&& from) noexcept;
  ~Descriptor();

  bool is_open() const { return mark() != none; }
  int fd() const { return static_cast<int>(static_cast<std::uint32_t>(mark())); }  // -1: closed
  IoRequest request(IoOp op) const;
  // EBADF: it was closed before.
  IoResult close() noexcept;

 private:
  static constexpr std::uint64_t none = 0xffffffff;  // issue 0, descriptor -1
  // relaxed: the issue is checked where the descriptor is used
  std::uint64_t mark() const { return mark_.load(std::memory_order_relaxed); }
  seam::Atomic<std::uint64_t> mark_{none};  // issue, descriptor
};

// The value, or std::system_error about `what`.
std::size_t checked(IoResult result, const char* what);
[[noreturn]] void throw_os_error(int os_error, const char* what);

}  // namespace weft::inline v0::detail

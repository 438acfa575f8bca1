// SPDX-License-Identifier: MIT
// What: an operation on the outside world as a plain value, and what became of it. Files, sockets and pipes make one,
// whoever performs it (the runtime, an interceptor, a simulation) answers.
//
// What pointers in it point at belongs to the caller and lives until the answer. A request that was asked to stop and
// has moved bytes nevertheless says how many: nothing is lost.
// Threads: a value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace weft::inline v0 {

enum class IoOp : std::uint8_t {
  poll,      // until fd is ready for `flags` (IoReady); answers those that it is ready for
  read,      // data, size; or slices, count
  write,     // the same
  read_at,   // and offset
  write_at,  // and offset
  recv,      // data, size or slices; flags of recv(2); address, if wanted: who sent it
  send,      // data, size or slices; flags of send(2); address, if given: to whom
  accept,    // answers a descriptor; address, if wanted; flags of accept4(2)
  connect,   // address
  shutdown,  // flags: SHUT_RD, SHUT_WR, SHUT_RDWR
  close,     // those who wait for fd get EBADF
  open,      // path, flags and mode of open(2); answers a descriptor
  sync,      // flags 1: without metadata
  size,      // answers the size of the file
  truncate,  // offset: the new size
  list,      // data, size: entries of the directory fd, as getdents64(2) writes them
  remove,    // path; flags 1: a directory
  rename,    // path, to
  make_dir,  // path, mode
  socket,    // flags: domain; mode: type; offset: protocol. Answers a descriptor
  bind,      // address
  listen,    // flags: backlog
  name,      // of a socket, into address; flags 1: of its other side
  option,    // of a socket. flags: level; mode: which; data, size: its value
  pair,      // data: where two descriptors go. flags: AF_UNIX, two sockets; 0: a pipe, to be read and to be written
  spawn,     // path: a program, for who looks; answers its pid
  task,      // asked of a fiber that catches io before something inside spawns; to answer 0 allows it
  resolve,   // path: a host's name; to: port or service, if given; data, size: sockaddr_storage's. Answers how many
};
const char* to_string(IoOp op);

// For IoOp::poll, and what block_on is asked for.
enum IoReady : std::uint32_t { io_readable = 1, io_writable = 2, io_hung_up = 4 };

// As iovec.
struct IoSlice {
  void* data = nullptr;
  std::size_t size = 0;
};

struct IoRequest {
  IoOp op = IoOp::poll;
  bool quiet = false;  // a cancel is answered by ECANCELED, not thrown
  int fd = -1;
  std::uint32_t issue = 0;  // which use of that descriptor's number is meant; 0: whatever it is now
  std::uint32_t flags = 0;
  std::uint32_t mode = 0;
  void* data = nullptr;  // written only where something is received
  std::size_t size = 0;
  const IoSlice* slices = nullptr;
  std::size_t count = 0;
  std::int64_t offset = 0;
  void* address = nullptr;  // sockaddr
  std::uint32_t* address_size = nullptr;
  const char* path = nullptr;
  const char* to = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// A count, a descriptor, a size; or the negated errno.
class [[nodiscard]] IoResult {
 public:
  constexpr IoResult() = default;
  constexpr explicit IoResult(long value) : value_(value) {}
  static constexpr IoResult failed(int os_error) { return IoResult(-long{os_error}); }

  constexpr bool ok() const { return value_ >= 0; }
  constexpr explicit operator bool() const { return ok(); }
  constexpr long value() const { return value_; }
  constexpr std::size_t count() const { return value_ > 0 ? static_cast<std::size_t>(value_) : 0; }
  constexpr int os_error() const { return value_ < 0 ? static_cast<int>(-value_) : 0; }
  std::error_code error() const { return {os_error(), std::system_category()}; }
  friend constexpr bool operator==(IoResult, IoResult) = default;

 private:
  long value_ = 0;
};

// Performs a request: by the fiber above that catches io, by the door in force, or by the runtime; on a plain thread
// right here. Throws Cancelled (unless quiet) and what the interceptor throws; all else is in the answer.
IoResult perform_io(IoRequest& request);

}  // namespace weft::inline v0

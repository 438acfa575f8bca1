// SPDX-License-Identifier: MIT
// What: a request as one system call.
// Threads: any.
#pragma once

#include <sys/epoll.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#include "weft/detail/seam.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// How a request is performed.
enum class IoWay : std::uint8_t {
  at_once,   // the call does not wait for anybody
  readable,  // when the descriptor is
  writable,
  file,  // the call may wait for a disk, and nothing tells when it would not
};
constexpr IoWay way_of(IoOp op) {
  switch (op) {
    case IoOp::read:
    case IoOp::recv:
    case IoOp::accept:
    case IoOp::poll:
      return IoWay::readable;
    case IoOp::write:
    case IoOp::send:
    case IoOp::connect:
      return IoWay::writable;
    case IoOp::read_at:
    case IoOp::write_at:
    case IoOp::open:
    case IoOp::sync:
    case IoOp::truncate:
    case IoOp::list:
    case IoOp::remove:
    case IoOp::rename:
    case IoOp::make_dir:
    case IoOp::spawn:
    case IoOp::resolve:
      return IoWay::file;
    case IoOp::shutdown:
    case IoOp::close:
    case IoOp::size:
    case IoOp::socket:
    case IoOp::bind:
    case IoOp::listen:
    case IoOp::name:
    case IoOp::option:
    case IoOp::pair:
    case IoOp::task:
      return IoWay::at_once;
  }
  return IoWay::at_once;
}

// One call; sockets and adopted descriptors answer EAGAIN instead of waiting. The result, or the negated error number.
long call_kernel(const IoRequest& request) noexcept;
// A client that has gone before it was accepted: the next one is asked for.
constexpr bool is_lost_client(IoOp op, long result) {
  return op == IoOp::accept && (result == -ECONNABORTED || result == -EPROTO);
}
// A connect that answered EINPROGRESS has ended: how.
long connect_outcome(int fd) noexcept;
// A TCP socket?
bool is_tcp(int fd) noexcept;
// Ready now? The descriptor need not be non-blocking. IoReady, or the negated error number.
long ready_now(int fd, std::uint32_t want) noexcept;

short events_of(std::uint32_t ready);  // for poll(2)
std::uint32_t ready_of(short events);  // from it
std::uint32_t ready_of_epoll(std::uint32_t events);

// From now until then, into `span`; null: no limit.
const timespec* span_until(std::int64_t deadline, timespec& span);

}  // namespace weft::inline v0::detail

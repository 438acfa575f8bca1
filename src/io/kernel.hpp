// SPDX-License-Identifier: MIT
// What: a request as one system call.
// Threads: any.
#pragma once

#include <sys/epoll.h>
#include <time.h>

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
IoWay way_of(IoOp op);

// One call; sockets and adopted descriptors answer EAGAIN instead of waiting. The result, or the negated error number.
long call_kernel(const IoRequest& request) noexcept;
// A client that has gone before it was accepted: the next one is asked for.
bool is_lost_client(IoOp op, long result);
// A connect that answered EINPROGRESS has ended: how.
long connect_outcome(int fd) noexcept;
// Ready now? The descriptor need not be non-blocking. IoReady, or the negated error number.
long ready_now(int fd, std::uint32_t want) noexcept;

short events_of(std::uint32_t ready);  // for poll(2)
std::uint32_t ready_of(short events);  // from it
std::uint32_t ready_of_epoll(std::uint32_t events);

// From now until then, into `span`; null: no limit.
const timespec* span_until(std::int64_t deadline, timespec& span);

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: what sockets of all kinds have in common.
// Threads: any.
#pragma once

#include <chrono>

#include "io/deadline.hpp"
#include "weft/address.hpp"
#include "weft/detail/descriptor.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0::detail {

// SOCK_NONBLOCK: one that connects or accepts; sockets that only send and receive stay blocking, and each call says
// that it will not wait. Answers 0, with the new socket in `into`, or the error.
IoResult make_socket(Descriptor& into, int family, int type, FdKind kind);
IoResult bind_socket(const Descriptor& socket, const Address& at);
IoResult connect_socket(const Descriptor& socket, const Address& to, Deadline deadline, bool quiet);
IoResult listen_on(const Descriptor& socket, int backlog);
IoResult accept_from(const Descriptor& listener, Descriptor& into, FdKind kind, Deadline deadline, bool quiet);
IoResult shut_down(const Descriptor& socket, int how);
IoResult set_option(const Descriptor& socket, int level, int option, const void* value, std::uint32_t size);
Address local_of(const Descriptor& socket);
Address peer_of(const Descriptor& socket);
// Never, if that is further away than the clock can say.
inline Deadline later(Deadline from, std::chrono::nanoseconds span) {
  return span >= never - from ? never : from + span;
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: names to addresses, by the system's resolver, on a thread that is no worker; a request (IoOp::resolve) as any
// other, so that who intercepts is asked.
// A lookup that is cancelled or late is left to itself: its thread ends when the resolver gives up.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "weft/address.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0 {

// In the system's order; at least one. Throws std::system_error: errc::timed_out, ENOENT for a name that nobody has,
// EAGAIN if that cannot be said now.
std::vector<Address> resolve(const std::string& host, std::uint16_t port, Deadline deadline = never);
std::vector<Address> resolve_for(const std::string& host, std::uint16_t port, std::chrono::nanoseconds span);
IoResult resolve_result(std::vector<Address>& into, const std::string& host, std::uint16_t port,
                        Deadline deadline = never);

}  // namespace weft::inline v0

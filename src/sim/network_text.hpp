// SPDX-License-Identifier: MIT
// What: addresses of simulated hosts: number n is 10.0.x.y, and what a sockaddr means there.
#pragma once

#include <cstdint>
#include <string>

#include "weft/address.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

struct SimTarget {
  enum class Kind : std::uint8_t {
    here,       // loopback, or a path
    any,        // 0.0.0.0, ::
    host,       // one of the simulated ones, maybe
    elsewhere,  // nobody is there
    unknown,    // no address at all
  };
  Kind kind = Kind::unknown;
  std::uint32_t host = 0;
  std::uint16_t port = 0;
  std::string path;
};
SimTarget target_of(const void* address, std::uint32_t size);
std::string ip_of(std::uint32_t host);
Address with_port(const void* address, std::uint32_t size, std::uint16_t port);
// Into the request, if it wants one.
void give_address(IoRequest& request, const Address& address);

}  // namespace weft::inline v0::detail

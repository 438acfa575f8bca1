// SPDX-License-Identifier: MIT
#include "sim/network_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weft::inline v0::detail {
namespace {

constexpr std::uint32_t first_ip = 0x0a000001;  // 10.0.0.1
constexpr std::uint32_t most_hosts = 0x00fffffe;

SimTarget target_of_ip(std::uint32_t ip, std::uint16_t port) {
  SimTarget target;
  target.port = port;
  if (ip >> 24 == 127) {
    target.kind = SimTarget::Kind::here;
  } else if (ip == 0) {
    target.kind = SimTarget::Kind::any;
  } else if (ip >= first_ip && ip - first_ip < most_hosts) {
    target.kind = SimTarget::Kind::host;
    target.host = ip - first_ip;
  } else {
    target.kind = SimTarget::Kind::elsewhere;
  }
  return target;
}

}  // namespace

SimTarget target_of(const void* address, std::uint32_t size) {
  sa_family_t family = AF_UNSPEC;
  if (size < sizeof family) return {};
  std::memcpy(&family, address, sizeof family);
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return target_of_ip(ntohl(in.sin_addr.s_addr), ntohs(in.sin_port));
  }
  if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    SimTarget target;
    target.port = ntohs(in.sin6_port);
    target.kind = IN6_IS_ADDR_LOOPBACK(&in.sin6_addr)      ? SimTarget::Kind::here
                  : IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr) ? SimTarget::Kind::any
                                                           : SimTarget::Kind::elsewhere;
    return target;
  }
  if (family == AF_UNIX && size > offsetof(sockaddr_un, sun_path)) {
    SimTarget target;
    target.kind = SimTarget::Kind::here;
    const auto* bytes = static_cast<const char*>(address) + offsetof(sockaddr_un, sun_path);
    const std::size_t length = size - offsetof(sockaddr_un, sun_path);
    // An abstract name may hold zeros; a path ends at the first.
    target.path = bytes[0] == '\0' ? std::string(bytes, length) : std::string(bytes, strnlen(bytes, length));
    return target;
  }
  return {};
}

std::string ip_of(std::uint32_t host) {
  const std::uint32_t ip = first_ip + host;
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    if (!text.empty()) text += ".";
    text += std::to_string(ip >> shift & 0xff);
  }
  return text;
}

Address with_port(const void* address, std::uint32_t size, std::uint16_t port) {
  Address result;
  result.size = std::min(size, Address::room);
  std::memcpy(result.data(), address, result.size);
  const std::uint16_t network_port = htons(port);
  if (result.family() == AF_INET)
    std::memcpy(static_cast<char*>(result.data()) + offsetof(sockaddr_in, sin_port), &network_port, 2);
  if (result.family() == AF_INET6)
    std::memcpy(static_cast<char*>(result.data()) + offsetof(sockaddr_in6, sin6_port), &network_port, 2);
  return result;
}

void give_address(IoRequest& request, const Address& address) {
  if (request.address == nullptr || request.address_size == nullptr) return;
  std::memcpy(request.address, address.data(), std::min(*request.address_size, address.size));
  *request.address_size = address.size;
}

}  // namespace weft::inline v0::detail

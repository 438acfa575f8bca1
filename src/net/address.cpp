// SPDX-License-Identifier: MIT
#include "weft/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::inline v0 {
namespace {

template <class T>
T as(const Address& address) {
  T value{};
  std::memcpy(&value, address.data(), std::min<std::size_t>(sizeof value, address.size));
  return value;
}
template <class T>
Address from(const T& value, std::size_t size = sizeof(T)) {
  static_assert(sizeof value <= Address::room);
  Address address;
  std::memcpy(address.data(), &value, size);
  address.size = static_cast<std::uint32_t>(size);
  return address;
}

Address ip4(std::uint32_t host, std::uint16_t port) {
  sockaddr_in value{};
  value.sin_family = AF_INET;
  value.sin_port = htons(port);
  value.sin_addr.s_addr = htonl(host);
  return from(value);
}

}  // namespace

Address Address::ip(std::string_view host, std::uint16_t port) {
  const std::string text(host);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) return from(four);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) return from(six);
  throw std::invalid_argument("Address::ip: \"" + text + "\" is no IPv4 or IPv6 address");
}

Address Address::loopback(std::uint16_t port) {
  return ip4(INADDR_LOOPBACK, port);
}

Address Address::any(std::uint16_t port) {
  return ip4(INADDR_ANY, port);
}

Address Address::unix_path(std::string_view path) {
  sockaddr_un value{};
  value.sun_family = AF_UNIX;
  const bool abstract = !path.empty() && path[0] == '\0';
  if (path.size() + (abstract ? 0 : 1) > sizeof value.sun_path)
    throw std::invalid_argument("Address::unix_path: longer than a socket's name may be");
  std::memcpy(value.sun_path, path.data(), path.size());
  return from(value, offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
}

int Address::family() const {
  return size < sizeof(sa_family_t) ? AF_UNSPEC : int{as<sockaddr>(*this).sa_family};
}

std::uint16_t Address::port() const {
  switch (family()) {
    case AF_INET:
      return ntohs(as<sockaddr_in>(*this).sin_port);
    case AF_INET6:
      return ntohs(as<sockaddr_in6>(*this).sin6_port);
    default:
      return 0;
  }
}

std::string Address::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  switch (family()) {
    case AF_INET: {
      const auto value = as<sockaddr_in>(*this);
      (void)inet_ntop(AF_INET, &value.sin_addr, text, sizeof text);
      return std::string(text) + ":" + std::to_string(port());
    }
    case AF_INET6: {
      const auto value = as<sockaddr_in6>(*this);
      (void)inet_ntop(AF_INET6, &value.sin6_addr, text, sizeof text);
      return "[" + std::string(text) + "]:" + std::to_string(port());
    }
    case AF_UNIX: {
      const auto value = as<sockaddr_un>(*this);
      constexpr std::size_t head = offsetof(sockaddr_un, sun_path);
      if (size <= head) return "unix:";
      if (value.sun_path[0] == '\0') return "unix:@" + std::string(value.sun_path + 1, size - head - 1);
      return "unix:" + std::string(value.sun_path, strnlen(value.sun_path, size - head));
    }
    default:
      return "?";
  }
}

bool operator==(const Address& a, const Address& b) {
  return a.size == b.size && std::memcmp(a.data(), b.data(), a.size) == 0;
}

}  // namespace weft::inline v0

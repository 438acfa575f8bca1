// SPDX-License-Identifier: MIT
// What: where a socket is: an IPv4 or IPv6 address with a port, or a path (or an abstract name) of a Unix socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::inline v0 {

class Address {
 public:
  Address() = default;
  // Numbers only, "127.0.0.1" or "::1"; throws std::invalid_argument.
  static Address ip(std::string_view host, std::uint16_t port);
  static Address loopback(std::uint16_t port = 0);  // 127.0.0.1
  static Address any(std::uint16_t port = 0);       // 0.0.0.0
  static Address unix_path(std::string_view path);  // "\0name": abstract. Throws std::invalid_argument if too long

  std::uint16_t port() const;     // 0 if it has none
  int family() const;             // AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC
  std::string to_string() const;  // "127.0.0.1:80", "[::1]:80", "unix:/path"
  friend bool operator==(const Address& a, const Address& b);

  // As sockaddr.
  void* data() { return bytes_; }
  const void* data() const { return bytes_; }
  std::uint32_t size = 0;
  static constexpr std::uint32_t room = 128;

 private:
  alignas(8) std::byte bytes_[room] = {};
};

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// What: contexts with the tests' certificates, and both ends of a connection.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tls/certificates.hpp"
#include "weft/net.hpp"
#include "weft/nursery.hpp"
#include "weft/tls.hpp"

namespace weft_test {

using namespace weft;

inline TlsContext server_context(const std::string& name = "good", std::vector<std::string> alpn = {}) {
  return TlsContext::server({.certificate_file = certificates().certificate(name),
                             .key_file = certificates().key(name),
                             .alpn = std::move(alpn)});
}

inline TlsContext client_context(std::vector<std::string> alpn = {}) {
  return TlsContext::client({.ca_file = certificates().root(), .alpn = std::move(alpn)});
}

// A listener on the loopback, and both ends of a new connection to it.
struct Pair {
  TcpListener listener = TcpListener::bind(Address::loopback());
  TcpStream near = TcpStream::connect(listener.local());
  TcpStream far = listener.accept();
};

// Both ends of a connection, hands shaken.
struct TlsPair {
  explicit TlsPair(const TlsContext& server = server_context(), const TlsContext& client = client_context(),
                   const std::string& host = "localhost") {
    Pair plain;
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { far = TlsStream::accept(server, std::move(plain.far)); });
      near = TlsStream::connect(client, std::move(plain.near), host);
    });
  }
  TlsStream near;
  TlsStream far;
};

}  // namespace weft_test

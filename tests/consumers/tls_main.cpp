// SPDX-License-Identifier: MIT
// An outside program that uses the optional part.
#include <cstdio>
#include <system_error>
#include <weft/tls.hpp>

int main() {
  const weft::TlsContext context = weft::TlsContext::client({.alpn = {"weft"}});
  weft::TlsStream closed;
  const weft::IoResult result = weft::TlsStream::connect_result(closed, context, weft::TcpStream(), "example.org");
  std::printf("%s\n", result.ok() || closed.is_open() ? "connected to nothing" : "no connection, no TLS");
}

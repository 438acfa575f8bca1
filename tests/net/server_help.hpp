// SPDX-License-Identifier: MIT
// What: a server for the time of a test, and a client's talk with it.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include "doctest/doctest.h"
#include "weft/nursery.hpp"
#include "weft/server.hpp"

namespace weft_test {

using namespace weft;

inline void echo(Connection& client) {
  char room[256];
  std::size_t written = 0;
  for (;;) {
    const IoResult got = client.read(room, never);
    if (got.count() == 0) return;
    if (!client.write_bytes({room, got.count()}, written, never).ok()) return;
  }
}

inline bool talks(TcpStream& stream) {
  stream.write_all("ping");
  char back[4];
  stream.read_exactly(back);
  return std::string_view(back, 4) == "ping";
}

template <class F>
void with_server(ServerOptions options, Server::Handler handler, F&& body) {
  Server server(TcpListener::bind(Address::loopback()), std::move(options), std::move(handler));
  with_nursery([&](Nursery& nursery) {
    auto running = nursery.spawn([&] { server.run(); });
    body(server);
    server.stop(std::chrono::seconds(5));
    running.join();
  });
  CHECK(server.counts().open == 0);
}

}  // namespace weft_test

// SPDX-License-Identifier: MIT
// What: an HTTP server for the time of a test, and what its clients say.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"

namespace weft_test {

inline const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
inline const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";

// A server for the time of body(where).
template <class F>
void with_http(const weft::HttpServerOptions& options, weft::HttpHandler handler, F&& body) {
  weft::HttpServer server(weft::TcpListener::bind(weft::Address::loopback()), options, std::move(handler));
  weft::with_nursery([&](weft::Nursery& nursery) {
    nursery.start([&] { server.run(); });
    body(server);
    server.stop(std::chrono::seconds(5));
  });
  CHECK(server.counts().open == 0);
}

inline void read_head(weft::TcpStream& stream) {
  std::string all;
  char room[2000];
  while (all.find("\r\n\r\n") == std::string::npos) {
    const std::size_t count = stream.read_result(room).count();
    if (count == 0) return;
    all.append(room, count);
  }
}

inline void echo(weft::HttpRequest& request, weft::HttpResponse& response) {
  const std::string body = request.body();
  response.field("X-Path", request.path()).send(std::string(request.method()) + ":" + body);
}

}  // namespace weft_test

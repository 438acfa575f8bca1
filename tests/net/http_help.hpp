// SPDX-License-Identifier: MIT
// What: an HTTP server for the time of a test, and what its clients say.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/time.hpp"

namespace weft_test {

using namespace weft;

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

// Gives what was written in these pieces, and keeps what comes back.
class MemoryWire final : public Wire {
 public:
  MemoryWire(std::string_view text, std::vector<std::size_t> cuts) : text_(text), cuts_(std::move(cuts)) {}
  IoResult read(weft::Room room, Deadline deadline) override {
    if (before_read) before_read();
    if (now() >= deadline) return IoResult::failed(ETIMEDOUT);
    if (at_ >= fails_after) return IoResult::failed(ECONNRESET);
    const std::size_t end = next_ < cuts_.size() ? cuts_[next_] : text_.size();
    const std::size_t count = std::min(room.size, end - at_);
    text_.copy(static_cast<char*>(room.data), count, at_);
    at_ += count;
    if (at_ == end) ++next_;
    return IoResult(static_cast<long>(count));
  }
  IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline) override {
    written = 0;
    const int error = std::exchange(cut, 0);
    for (const Bytes& piece : pieces) {
      const std::size_t count = error == 0 ? piece.size : std::min<std::size_t>(piece.size, 10 - written);
      came_.append(piece.chars(), count);
      written += count;
    }
    if (error == ECANCELED) cancel_scope();
    return error == 0 ? IoResult(static_cast<long>(written)) : IoResult::failed(error);
  }
  IoResult shutdown_write(Deadline) override {
    ended = true;
    return IoResult();
  }
  IoResult close() noexcept override { return IoResult(); }
  IoResult reset() noexcept override {
    was_reset = true;
    return IoResult();
  }
  Address peer() const override { return {}; }
  const std::string& came() const { return came_; }

  std::function<void()> before_read;
  std::size_t fails_after = std::string::npos;
  bool ended = false;  // by shutdown_write
  bool was_reset = false;
  int cut = 0;  // the next write ends with this after ten bytes

 private:
  std::string text_;
  std::vector<std::size_t> cuts_;  // where a read ends
  std::size_t next_ = 0;
  std::size_t at_ = 0;
  std::string came_;
};

// Sends the pieces and gives all that comes back until the end.
inline std::string ask(const Address& where, const std::vector<std::string>& pieces, bool end = false) {
  TcpStream stream = TcpStream::connect(where);
  std::string all;
  for (const std::string& piece : pieces) {
    std::size_t written = 0;
    (void)stream.write_all_result(piece, written);
    yield_now();
  }
  if (end) stream.shutdown_write();
  char room[4096];
  for (;;) {
    const IoResult result = stream.read_result(room, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    if (!result.ok()) return all + "(" + result.error().message() + ")";
    if (result.count() == 0) return all;
    all.append(room, result.count());
  }
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
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

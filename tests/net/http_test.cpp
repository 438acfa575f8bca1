// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "net/http_chunks.hpp"
#include "net/http_date.hpp"
#include "net/http_parser.hpp"
#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/intercept.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/sim.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";

// What a reader of requests makes of a text that comes in these pieces: the requests, and how it ends.
std::string understood(std::string_view text, const std::vector<std::size_t>& cuts, const HeadLimits& limits = {}) {
  std::string all;
  std::string told;
  HeadParser parser(HeadParser::Side::request, limits);
  Chunks chunks;
  Framing framing;
  enum { head, body } stage = head;
  std::size_t begin = 0;
  std::uint64_t left = 0;
  parser.begin();
  const auto finish = [&] {
    told += "|";
    stage = head;
    parser.begin();
  };
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : text.size();
    all.append(text.substr(from, to - from));
    from = to;
    for (bool again = true; again && begin < all.size();) {
      const std::string_view unread = std::string_view(all).substr(begin);
      if (stage == head) {
        const Parse parse = parser.feed(unread);
        if (parse == Parse::bad) return told + "bad " + std::to_string(parser.fault().status);
        if (parse == Parse::more) break;
        if (!parser.frame_request(unread.data(), framing)) return told + "bad " + std::to_string(parser.fault().status);
        told += std::string(parser.method(unread.data())) + " " + std::string(parser.target(unread.data()));
        const HttpFields& fields = parser.fields(unread.data());
        for (std::size_t f = 0; f < fields.size(); ++f)
          told += " " + std::string(fields[f].name) + "=" + std::string(fields[f].value);
        told += ": ";
        begin += parser.size();
        chunks.begin();
        left = framing.length;
        stage = body;
        if (framing.kind == BodyKind::none) finish();
      } else if (framing.kind == BodyKind::length) {
        const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, unread.size()));
        told += unread.substr(0, count);
        begin += count;
        left -= count;
        if (left == 0) finish();
      } else {
        begin += chunks.skip(unread);
        if (chunks.state() == Chunks::State::bad) return told + "bad " + std::to_string(chunks.fault().status);
        const std::string_view rest = std::string_view(all).substr(begin);
        if (chunks.at_data()) {
          const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(chunks.left(), rest.size()));
          told += rest.substr(0, count);
          begin += count;
          if (count != 0) chunks.took(count);
          again = count != 0;
        }
        if (chunks.at_end()) finish();
      }
    }
  }
  return told;
}

std::string understood(std::string_view text) {
  return understood(text, {});
}

// However it is cut.
std::string understood_in_pieces(std::string_view text) {
  const std::string whole = understood(text, {});
  std::vector<std::size_t> each;
  for (std::size_t i = 1; i < text.size(); ++i) {
    CHECK(understood(text, {i}) == whole);
    each.push_back(i);
  }
  CHECK(understood(text, each) == whole);
  return whole;
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

// A server for the time of body(where).
template <class F>
void with_http(const HttpServerOptions& options, HttpHandler handler, F&& body) {
  HttpServer server(TcpListener::bind(Address::loopback()), options, std::move(handler));
  with_nursery([&](Nursery& nursery) {
    nursery.start([&] { server.run(); });
    body(server);
    server.stop(5s);
  });
  CHECK(server.counts().open == 0);
}

// Sends the pieces and gives all that comes back until the end.
std::string ask(const Address& where, const std::vector<std::string>& pieces, bool end = false) {
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
    const IoResult result = stream.read_result(room, std::chrono::steady_clock::now() + 5s);
    if (!result.ok()) return all + "(" + result.error().message() + ")";
    if (result.count() == 0) return all;
    all.append(room, result.count());
  }
}

// Of a question; or until its end.
void read_head(TcpStream& stream) {
  std::string all;
  char room[2000];
  while (all.find("\r\n\r\n") == std::string::npos) {
    const std::size_t count = stream.read_result(room).count();
    if (count == 0) return;
    all.append(room, count);
  }
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void echo(HttpRequest& request, HttpResponse& response) {
  const std::string body = request.body();
  response.field("X-Path", request.path()).send(std::string(request.method()) + ":" + body);
}

}  // namespace

TEST_CASE("http: proper requests are understood alike however they are cut") {
  CHECK(understood_in_pieces(get + "\r\n") == "GET / Host=a: |");
  CHECK(understood_in_pieces(get + "\r\n" + get + "A:b\r\n\r\n") == "GET / Host=a: |GET / Host=a A=b: |");
  CHECK(understood_in_pieces("\r\n" + get + "\r\n") == "GET / Host=a: |");
  CHECK(understood_in_pieces("GET /x?y=z HTTP/1.0\r\n\r\n") == "GET /x?y=z: |");
  CHECK(understood_in_pieces("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n") == "OPTIONS * Host=: |");
  CHECK(understood_in_pieces("GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n") == "GET http://a/b Host=a: |");
  CHECK(understood_in_pieces("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n") == "CONNECT a:443 Host=a:443: |");
  CHECK(understood_in_pieces(post + "content-LENGTH: \t 5 \r\n\r\nhello" + get + "\r\n") ==
        "POST / Host=a content-LENGTH=5: hello|GET / Host=a: |");
  CHECK(understood_in_pieces(post + "Content-Length: 0\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Content-Length=0: |GET / Host=a: |");
  const std::string chunked = post + "Transfer-Encoding: Chunked\r\n\r\n";
  CHECK(understood_in_pieces(chunked + "5\r\nhello\r\n00B;a=\"b\"\r\n, my friend\r\n0\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Transfer-Encoding=Chunked: hello, my friend|GET / Host=a: |");
  CHECK(understood_in_pieces(chunked + "1\r\n\n\r\n0\r\nTrailer: x\r\nAnother:\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Transfer-Encoding=Chunked: \n|GET / Host=a: |");
  CHECK(understood_in_pieces(get + "X: a\tb \xc3\xa9 \r\n\r\n") == "GET / Host=a X=a\tb \xc3\xa9: |");
}

TEST_CASE("http: what two readers could understand in two ways is refused, however it is cut") {
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  const struct {
    std::string text;
    std::string end;
  } table[] = {
      // Two lengths, and lengths that are none.
      {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5, 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: +5\r\n\r\n", "bad 400"},
      {post + "Content-Length: -5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 0x5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5;\r\n\r\n", "bad 400"},
      {post + "Content-Length:\r\n\r\n", "bad 400"},
      {post + "Content-Length: 18446744073709551621\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: chunked, chunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: xchunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: \"chunked\"\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: identity\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding:\r\n\r\n", "bad 501"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      // Names that one reader takes for another.
      {post + "Transfer-Encoding : chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding\t: chunked\r\n\r\n", "bad 400"},
      {post + " Transfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "X: y\r\n\tfolded\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n",
       "bad 400"},
      {post + "Transfer-Encoding:\x0c"
              "chunked\r\n\r\n",
       "bad 400"},
      {post + std::string("Content-Length: 5\0\r\n\r\n", 22), "bad 400"},
      {post + std::string("Content\0Length: 5\r\n\r\n", 21), "bad 400"},
      {post + "Cont\xc3\xa9nt: 5\r\n\r\n", "bad 400"},
      {post + "X\r\n\r\n", "bad 400"},
      {post + ": x\r\n\r\n", "bad 400"},
      {post + "X[]: x\r\n\r\n", "bad 400"},
      // Line ends.
      {"GET / HTTP/1.1\nHost: a\n\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", "bad 400"},
      {get + "X: a\rb\r\n\r\n", "bad 400"},
      {get + "X: a\r\r\n\r\n", "bad 400"},
      {get + "X: a\rTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {get + "\r\r\n", "bad 400"},
      {"\r\n\r\n" + get + "\r\n", "bad 400"},
      {"\n" + get + "\r\n", "bad 400"},
      // First lines.
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "bad 400"},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\r\n\r\n", "bad 400"},
      {"GET\r\n\r\n", "bad 400"},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET x?u=http://b/c HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET ://b/c HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "bad 505"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad 505"},
      {"\x16\x03\x01\x02", "bad 400"},
      // Host.
      {"GET / HTTP/1.1\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "bad 400"},
      {get + "Expect: 200-ok\r\n\r\n", "bad 417"},
      // Chunks.
      {chunked + "5 \r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + " 5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0x5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "+5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "-5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\rhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5;a\nb\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5;a\rb\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + ";a\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "4\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "6\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello\n0\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello\n\n0\r\n\r\n", "bad 400"},
      {chunked + "\r\n\r\n", "bad 400"},
      {chunked + ";\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello0\r\n\r\n", "bad 400"},
      {chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0000000000000005\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0\r\n Trailer: x\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer : x\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer: a\rb\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer: a\nb\r\n\r\n", "bad 400"},
      {chunked + "0\r\n\n", "bad 400"},
      {chunked + "0;" + std::string(20000, 'x') + "\r\n\r\n", "bad 400"},
      {chunked + "0\r\nT: " + std::string(20000, 'x') + "\r\n\r\n", "bad 431"},
  };
  for (const auto& row : table) {
    CAPTURE(row.text);
    if (row.text.size() < 1000) {
      CHECK(understood_in_pieces(row.text).ends_with(row.end));
    } else {
      CHECK(understood(row.text).ends_with(row.end));
    }
  }
}

TEST_CASE("http: heads have limits, in bytes and in fields, at the same byte however they are cut") {
  const HeadLimits limits{64, 3};
  const auto end_of = [&](const std::string& text) {
    const std::string whole = understood(text, {}, limits);
    std::vector<std::size_t> each;
    for (std::size_t i = 1; i < text.size(); ++i) each.push_back(i);
    CHECK(understood(text, each, limits) == whole);
    return whole.substr(whole.size() - std::min<std::size_t>(7, whole.size()));
  };
  // "GET / HTTP/1.1\r\nHost: a\r\n" has 25 bytes.
  CHECK(end_of(get + "X: " + std::string(32, 'x') + "\r\n\r\n").ends_with("|"));
  CHECK(end_of(get + "X: " + std::string(33, 'x') + "\r\n\r\n") == "bad 431");
  CHECK(end_of(get + "X: " + std::string(500, 'x')) == "bad 431");
  CHECK(end_of("GET /" + std::string(60, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n") == "bad 414");
  CHECK(end_of("GET /" + std::string(600, 'x')) == "bad 414");
  CHECK(end_of(get + "a:b\r\nc:d\r\n\r\n").ends_with("|"));
  CHECK(end_of(get + "a:b\r\nc:d\r\ne:f\r\n\r\n") == "bad 431");
}

TEST_CASE("http: answers are understood, and their bodies have the length that was told") {
  const auto framing = [](const std::string& text, bool to_head = false) {
    HeadParser parser(HeadParser::Side::answer, {});
    Framing found;
    parser.begin();
    if (parser.feed(text) != Parse::done || !parser.frame_answer(text.data(), to_head, found))
      return std::string("bad");
    const char* const names[] = {"none", "length", "chunked", "until close"};
    return std::to_string(parser.status()) + " " + std::string(parser.reason(text.data())) + ", " +
           names[static_cast<int>(found.kind)] + " " + std::to_string(found.length);
  };
  CHECK(framing("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n") == "200 OK, length 7");
  CHECK(framing("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true) == "200 OK, none 0");
  CHECK(framing("HTTP/1.0 404 Not Found\r\n\r\n") == "404 Not Found, until close 0");
  CHECK(framing("HTTP/1.1 204 \r\n\r\n") == "204 , none 0");
  CHECK(framing("HTTP/1.1 304\r\nContent-Length: 7\r\n\r\n") == "304 , none 0");
  CHECK(framing("HTTP/1.1 100 Continue\r\n\r\n") == "100 Continue, none 0");
  CHECK(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == "200 OK, chunked 0");
  for (const char* text :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 O\rK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    CAPTURE(text);
    CHECK(framing(text) == "bad");
  }
}

TEST_CASE("http: random bytes and damaged requests never confuse the parser, and cuts change nothing") {
  const std::uint64_t seed = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  CAPTURE(seed);
  Random random(seed);
  const std::vector<std::string> seeds{
      get + "\r\n", post + "Content-Length: 5\r\n\r\nhello",
      post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
      "GET /path?query HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n"};
  const std::string_view special = "\r\n\t \0:;,0123456789abcdefxX\x7f\x80\xff"sv;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t parts = 1 + random.below(3); parts > 0; --parts) text += seeds[random.below(seeds.size())];
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      const char with =
          random.below(4) == 0 ? static_cast<char>(random.below(256)) : special[random.below(special.size())];
      switch (random.below(4)) {
        case 0:
          text[at] = with;
          break;
        case 1:
          text.insert(at, 1, with);
          break;
        case 2:
          text.erase(at, 1 + random.below(4));
          break;
        default:
          text.insert(at, text.substr(random.below(text.size()), random.below(30)));
          break;
      }
      if (text.empty()) text = "\r";
    }
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random.below(40)) < text.size();) cuts.push_back(at);
    const std::string whole = understood(text);
    CAPTURE(text);
    REQUIRE(understood(text, cuts) == whole);
  }
  for (int round = 0; round < 5'000; ++round) {
    std::string text(1 + random.below(300), ' ');
    for (char& c : text)
      c = random.below(3) == 0 ? special[random.below(special.size())] : static_cast<char>(random.below(256));
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random.below(20)) < text.size();) cuts.push_back(at);
    CAPTURE(text);
    REQUIRE(understood(text, cuts) == understood(text));
  }
}

TEST_CASE("http: a server's answers do not depend on how the requests were cut, whatever they are") {
  const std::uint64_t seed = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  CAPTURE(seed);
  Random random(seed);
  HttpServerOptions options;
  options.date = false;
  options.max_head = 5000;
  options.max_body = 20'000;
  options.max_drain = 300;
  Runtime runtime(workers(1));
  runtime.run([&] {
    HttpService service(options, [&](HttpRequest& request, HttpResponse& response) {
      if (request.path() == "/unread") return response.send("unread");
      if (request.path() == "/pieces") {
        char room[700];
        while (const std::size_t count = request.read(room)) response.write({room, count});
        return;
      }
      response.field("X-Path", request.path()).field("X-Host", request.host()).send(request.body());
    });
    const auto answer = [&](std::string_view text, std::vector<std::size_t> cuts) {
      MemoryWire wire(text, std::move(cuts));
      service.serve(wire);
      return wire.came();
    };
    const auto whole_of = [&](std::string text) {  // chunks as large as the reads made them
      std::string plain;
      for (std::size_t at = text.find("Transfer-Encoding: chunked"); at != std::string::npos;) {
        const std::size_t body = text.find("\r\n\r\n", at) + 4;
        Chunks chunks;
        std::size_t used = body;
        plain.append(text, 0, body);
        while (!chunks.at_end() && used < text.size()) {
          used += chunks.skip(std::string_view(text).substr(used));
          if (!chunks.at_data()) continue;
          const std::size_t count = std::min<std::size_t>(chunks.left(), text.size() - used);
          plain.append(text, used, count);
          used += count;
          if (count != 0) chunks.took(count);
        }
        text.erase(0, used);
        at = text.find("Transfer-Encoding: chunked");
      }
      return plain + text;
    };
    for (int round = 0; round < 1000; ++round) {
      std::string text;
      for (std::uint64_t count = 1 + random.below(6); count > 0; --count) {
        const char* const paths[] = {"/", "/unread", "/pieces", "http://name:1/x?y"};
        const std::string body(random.below(random.below(10) == 0 ? 9000 : 400), 'b');
        text += "POST " + std::string(paths[random.below(4)]) + " HTTP/1.1\r\nHost: a\r\n";
        if (random.below(20) == 0) text += "X: " + std::string(random.below(5000), 'x') + "\r\n";
        if (random.below(2) == 0) {
          text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        } else {
          text += "Transfer-Encoding: chunked\r\n\r\n";
          for (std::size_t at = 0; at < body.size();) {
            const std::size_t size = 1 + random.below(body.size() - at);
            char head[20];
            std::snprintf(head, sizeof head, "%zx\r\n", size);
            text += head + body.substr(at, size) + "\r\n";
            at += size;
          }
          text += "0\r\n\r\n";
        }
      }
      if (random.below(3) == 0) text[random.below(text.size())] = static_cast<char>(random.below(256));
      const std::string whole = whole_of(answer(text, {}));
      for (int way = 0; way < 3; ++way) {
        std::vector<std::size_t> cuts;
        const std::uint64_t most = way == 0 ? 1 : way == 1 ? 50 : 2000;
        for (std::size_t at = 0; (at += 1 + random.below(most)) < text.size();) cuts.push_back(at);
        CAPTURE(text);
        REQUIRE(whole_of(answer(text, cuts)) == whole);
      }
    }
  });
}

TEST_CASE("http: the date is written as RFC 9110 wants it") {
  HttpDate date;
  CHECK(date.at(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(date.at(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(date.at(951782399) == "Mon, 28 Feb 2000 23:59:59 GMT");
  CHECK(date.at(951782400) == "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST_CASE("http: requests in one piece are answered in order, and keep the connection; the answers go out together") {
  on_each_engine([] {
    HttpServerOptions options;
    options.clock = [] { return std::time_t{784111777}; };
    with_http(options, echo, [](HttpServer& server) {
      const std::string two = post + "Content-Length: 2\r\n\r\nab" + "GET /x?q HTTP/1.1\r\nHost: a\r\n\r\n";
      const std::string last = get + "Connection: close\r\n\r\n";
      const std::string want =
          "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 7\r\nX-Path: /\r\n\r\nPOST:ab"
          "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 4\r\nX-Path: /x\r\n\r\nGET:"
          "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 4\r\nX-Path: /\r\nConnection: "
          "close\r\n\r\nGET:";
      CHECK(ask(server.local(), {two + last}) == want);
      CHECK(ask(server.local(), {two, last}) == want);
      std::vector<std::string> bytes;
      for (const char c : two + last) bytes.emplace_back(1, c);
      CHECK(ask(server.local(), bytes) == want);
      CHECK(ask(server.local(), {two}, true).size() == want.size() - ask(server.local(), {last}).size());
      CHECK(server.http_counts().requests == 3 + 3 + 3 + 2 + 1);

      // Several requests by one write come back by one read.
      std::string many;
      for (int i = 0; i < 50; ++i) many += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
      TcpStream stream = TcpStream::connect(server.local());
      stream.write_all(many);
      std::string room(100'000, ' ');
      const std::size_t first = stream.read(room);
      CHECK(count_of({room.data(), first}, "X-Path: /") == 50);
      CHECK(room.find("X-Path: /7\r\n") < room.find("X-Path: /8\r\n"));
    });
  });
}

TEST_CASE("http: what is no request is answered and the connection closed; nothing behind it is looked at") {
  on_each_engine([] {
    HttpServerOptions options;
    options.max_head = 200;
    options.max_body = 10;
    options.max_fields = 4;
    with_http(options, echo, [](HttpServer& server) {
      const auto status_of = [&](const std::string& text) {
        const std::string answer = ask(server.local(), {text});
        CHECK(count_of(answer, "HTTP/1.1 ") == 1);
        CHECK(answer.find("Connection: close\r\n") != std::string::npos);
        return answer.substr(9, 3);
      };
      const std::string behind = get + "\r\n";
      CHECK(status_of("nonsense\r\n\r\n" + behind) == "400");
      CHECK(status_of("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n" + behind) == "501");
      CHECK(status_of("GET / HTTP/3.0\r\n\r\n" + behind) == "505");
      CHECK(status_of(get + "X: " + std::string(300, 'x') + "\r\n\r\n" + behind) == "431");
      CHECK(status_of(get + "a:\r\nb:\r\nc:\r\nd:\r\n\r\n" + behind) == "431");
      CHECK(status_of("GET /" + std::string(300, 'x')) == "414");
      CHECK(status_of(post + "Content-Length: 11\r\n\r\n" + behind) == "413");
      CHECK(status_of(post + "Transfer-Encoding: chunked\r\n\r\nb\r\n" + behind) == "413");
      CHECK(status_of(post + "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n") == "413");  // before a byte of it came
      CHECK(status_of(post + "Transfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n5\r\n12345\r\n0\r\n\r\n") == "413");
      CHECK(status_of(post + "Transfer-Encoding: chunked\r\n\r\n4\r\n123456\r\n0\r\n\r\n" + behind) == "400");
      CHECK(status_of(post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + behind) == "400");
      CHECK(ask(server.local(), {get}, true).substr(9, 3) == "400");                                   // half a head
      CHECK(ask(server.local(), {post + "Content-Length: 4\r\n\r\nab"}, true).substr(9, 3) == "400");  // half a body
      CHECK(ask(server.local(), {""}, true).empty());
      CHECK(server.http_counts().refused == 14);
      CHECK(server.http_counts().failed == 0);
    });
  });
}

TEST_CASE("http: HEAD, 204, HTTP/1.0 and Connection are kept") {
  on_each_engine([] {
    HttpServerOptions options;
    options.date = false;
    with_http(
        options,
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/none") return void(response.status(204).send("dropped"));
          if (request.path() == "/empty") return;
          if (request.path() == "/close") response.close();
          if (request.path() == "/pieces") {
            response.write("one ");
            return response.write("two");
          }
          response.send("hello");
        },
        [](HttpServer& server) {
          const std::string end = "GET /close HTTP/1.1\r\nHost: a\r\n\r\n";
          const std::string closed = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
          const auto answer = [&](const std::string& text) { return ask(server.local(), {text + end}); };
          CHECK(answer("") == closed);
          CHECK(answer("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + closed);
          CHECK(answer("HEAD /pieces HTTP/1.1\r\nHost: a\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + closed);
          CHECK(answer("GET /none HTTP/1.1\r\nHost: a\r\n\r\n") == "HTTP/1.1 204 No Content\r\n\r\n" + closed);
          CHECK(answer("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + closed);
          CHECK(answer("GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n" + closed);
          // HTTP/1.0 ends, unless it asks for more; it knows no chunks.
          CHECK(answer("GET / HTTP/1.0\r\n\r\n") == closed);
          CHECK(answer("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello" + closed);
          CHECK(answer("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") ==
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none two");
          CHECK(answer("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n") == closed);
        });
  });
}

TEST_CASE("http: bodies stream both ways, in chunks and by their length") {
  on_each_engine([] {
    HttpServerOptions options;
    options.max_body = 10'000'000;
    options.date = false;
    with_http(
        options,
        [](HttpRequest& request, HttpResponse& response) {
          if (const auto length = request.content_length()) response.content_length(*length);
          char room[3000];
          while (const std::size_t count = request.read(room)) response.write({room, count});
        },
        [](HttpServer& server) {
          std::string body;
          for (int i = 0; i < 100'000; ++i) body += std::to_string(i) + ",";
          const auto exchange = [&](const std::string& message) {
            TcpStream stream = TcpStream::connect(server.local());
            std::string answer;
            with_nursery([&](Nursery& nursery) {
              nursery.start([&] { stream.write_all(message); });
              char room[10'000];
              while (const std::size_t count = stream.read(room)) answer.append(room, count);
            });
            return answer;
          };
          const std::string close = post + "Connection: close\r\n";
          CHECK(exchange(close + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body) ==
                "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
                    body);
          std::string chunks;
          for (std::size_t at = 0, size = 1; at < body.size(); at += size, size = size * 3 % 20'011) {
            const std::string piece = body.substr(at, size);
            char head[20];
            std::snprintf(head, sizeof head, "%zx\r\n", piece.size());
            chunks += head + piece + "\r\n";
          }
          const std::string answer = exchange(close + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n");
          const std::size_t head = answer.find("\r\n\r\n") + 4;
          CHECK(answer.find("Transfer-Encoding: chunked") < head);
          Chunks reader;
          std::string back;
          for (std::string_view rest = std::string_view(answer).substr(head); !reader.at_end();) {
            rest.remove_prefix(reader.skip(rest));
            REQUIRE((reader.at_data() || (reader.at_end() && rest.empty())));
            const auto count = static_cast<std::size_t>(reader.left());
            back += rest.substr(0, count);
            rest.remove_prefix(count);
            if (count != 0) reader.took(count);
          }
          CHECK(back == body);
        });
  });
}

TEST_CASE("http: 100-continue is said when the body is wanted, and only then") {
  on_each_engine([] {
    HttpServerOptions options;
    options.date = false;
    with_http(
        options,
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/no") return void(response.status(403).send(""));
          response.send(request.body());
        },
        [](HttpServer& server) {
          const auto begin = [&](const std::string& path) {
            TcpStream stream = TcpStream::connect(server.local());
            stream.write_all("PUT " + path +
                             " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
            return stream;
          };
          char room[1000];
          TcpStream yes = begin("/yes");
          CHECK(std::string(room, yes.read(room)) == "HTTP/1.1 100 Continue\r\n\r\n");
          yes.write_all("body");
          CHECK(std::string(room, yes.read(room)) == "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
          yes.close();
          TcpStream no = begin("/no");
          CHECK(std::string(room, no.read(room)) ==
                "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
          // It has come already: nothing to wait for.
          CHECK(ask(server.local(), {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n"
                                     "Connection: close\r\n\r\nbody"}) ==
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody");
        });
  });
}

TEST_CASE("http: a body that nobody reads is drained if it is small, and ends the connection if it is not") {
  on_each_engine([] {
    HttpServerOptions options;
    options.date = false;
    options.max_drain = 1000;
    with_http(
        options, [](HttpRequest&, HttpResponse& response) { response.send("x"); },
        [](HttpServer& server) {
          const auto sized = [](std::size_t size) {
            return post + "Content-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'b');
          };
          const std::string end = get + "Connection: close\r\n\r\n";
          CHECK(count_of(ask(server.local(), {sized(900) + end}), "200 OK") == 2);
          const std::string large = ask(server.local(), {sized(100'000) + end});
          CHECK(count_of(large, "200 OK") == 1);
          CHECK(count_of(large, "Connection: close") == 1);
          CHECK(count_of(ask(server.local(), {post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + end}),
                         "200 OK") == 2);
          CHECK(count_of(ask(server.local(), {post + "Transfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                                              std::string(2000, 'b') + "\r\n0\r\n\r\n" + end}),
                         "200 OK") == 1);
        });
  });
}

TEST_CASE("http: a slow head, a slow body and a slow reader have their time") {
  on_each_engine([] {
    HttpServerOptions options;
    options.head_time = 30ms;
    options.body_time = 30ms;
    options.idle_time = 60ms;
    options.min_rate = 1'000'000'000;
    with_http(
        options,
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/large") {
            const std::string piece(1'000'000, 'x');
            for (int i = 0; i < 100; ++i) response.write(piece);
          }
          response.send(request.body());
        },
        [](HttpServer& server) {
          // A byte every few milliseconds does not help.
          const auto drip = [&](const std::string& text) {
            TcpStream stream = TcpStream::connect(server.local());
            std::string all;
            char room[1000];
            for (std::size_t i = 0;; ++i) {
              std::size_t written = 0;
              if (i < text.size()) (void)stream.write_all_result(text.substr(i, 1), written);
              const IoResult result = stream.read_result(room, std::chrono::steady_clock::now() + 5ms);
              if (result.ok() && result.count() == 0) return all;
              if (!result.ok() && result.os_error() != ETIMEDOUT) return all;
              all.append(room, result.count());
            }
          };
          CHECK(drip(get + "\r\n").starts_with("HTTP/1.1 408 "));
          CHECK(drip("").empty());  // said nothing: nothing to answer
          TcpStream body = TcpStream::connect(server.local());
          body.write_all(post + "Content-Length: 5\r\n\r\nab");
          char room[1000];
          CHECK(std::string(room, body.read(room)).starts_with("HTTP/1.1 408 "));
          // Who does not read does not keep the server.
          TcpStream reader = TcpStream::connect(server.local());
          reader.write_all("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
          const auto open = [&] { return server.counts().open; };
          body.close();
          while (open() != 0) sleep(5ms);
        });
  });
}

TEST_CASE("http: what a handler throws is an answer, is told, and the server goes on") {
  on_each_engine([] {
    HttpServerOptions options;
    options.date = false;
    std::vector<std::string> told;
    options.server.on_trouble = [&](const ServerTrouble& trouble) {
      try {
        std::rethrow_exception(trouble.error);
      } catch (const std::exception& error) {
        told.emplace_back(error.what());
      }
    };
    with_http(
        options,
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/teapot") throw HttpError(418, "short and stout");
          if (request.path() == "/late") {
            response.write("half of it");
            response.flush();
          }
          if (request.path() == "/short") {
            response.content_length(10);
            response.write("half");
          }
          if (request.path() == "/split") response.field("X", "a\r\nSet-Cookie: b");
          if (request.path() == "/name") response.field("Content-Length", "3");
          if (request.path() != "/short") throw std::runtime_error("out of order");
        },
        [&](HttpServer& server) {
          const auto answer = [&](const std::string& path) {
            return ask(server.local(), {"GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"}, true);
          };
          const std::string failed =
              "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 33\r\nContent-Type: text/plain\r\n\r\n"
              "the request could not be handled\n";
          CHECK(answer("/") == failed);
          CHECK(answer("/split") == failed);
          CHECK(answer("/name") == failed);
          CHECK(answer("/teapot") ==
                "HTTP/1.1 418 \r\nContent-Length: 16\r\nContent-Type: text/plain\r\n\r\nshort and stout\n");
          CHECK(answer("/late") == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n");
          CHECK(answer("/short") == "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
          CHECK(server.http_counts().failed == 5);
          CHECK(server.counts().failed == 0);
        });
    CHECK(told.size() == 5);
  });
}

TEST_CASE("http: a stop answers what is under way with Connection: close, ends who rests, and cuts who is too slow") {
  on_each_engine([] {
    HttpServerOptions options;
    options.date = false;
    SyncEvent begun;
    SyncEvent go_on;
    HttpServer server(TcpListener::bind(Address::loopback()), options,
                      [&](HttpRequest& request, HttpResponse& response) {
                        begun.set();
                        if (request.path() == "/never") sleep(1h);
                        go_on.wait();
                        response.send("done");
                      });
    const Address where = server.local();
    with_nursery([&](Nursery& nursery) {
      auto running = nursery.spawn([&] { server.run(); });
      TcpStream resting = TcpStream::connect(server.local());
      TcpStream working = TcpStream::connect(server.local());
      working.write_all(get + "\r\n");
      begun.wait();
      begun.reset();
      TcpStream stuck = TcpStream::connect(server.local());
      stuck.write_all("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
      begun.wait();
      while (server.counts().open != 3) yield_now();
      server.stop(1h);
      char room[1000];
      CHECK(resting.read(room) == 0);  // at once
      go_on.set();
      CHECK(std::string(room, working.read(room)) ==
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone");
      CHECK(working.read(room) == 0);
      until([&] { return server.counts().open == 1; });
      server.stop(0s);
      CHECK(stuck.read_result(room).count() == 0);
      running.join();
      CHECK(server.counts().cut == 1);
      CHECK(server.counts().accepted == 3);
      TcpStream late;
      CHECK(TcpStream::connect_result(late, where).os_error() == ECONNREFUSED);
    });
  });
}

TEST_CASE("http: a Cancelled that is not of the request's own task is a failure of its handler alone") {
  on_each_engine([] {
    with_http(
        {},
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/cancelled") {
            (void)with_nursery([](Nursery& nursery) {
              nursery.cancel();
              yield_now();
              return 1;
            });
          }
          response.send("x");
        },
        [](HttpServer& server) {
          CHECK(ask(server.local(), {"GET /cancelled HTTP/1.1\r\nHost: a\r\n\r\n" + get + "Connection: close\r\n\r\n"})
                    .starts_with("HTTP/1.1 500 "));
          CHECK(ask(server.local(), {get + "Connection: close\r\n\r\n"}).starts_with("HTTP/1.1 200 "));
          CHECK(server.http_counts().failed == 1);
        });
  });
}

TEST_CASE("http: nothing is written behind an answer that was cut short") {
  Runtime runtime(workers(1));
  runtime.run([] {
    HttpServerOptions options;
    options.date = false;
    const std::string large(20'000, 'x');
    HttpService service(options, [&](HttpRequest& request, HttpResponse& response) {
      if (request.path() == "/goes-on") {
        CHECK_THROWS_AS(response.write(large), HttpError);
        CHECK_THROWS_AS(response.write(large), HttpError);
      } else if (request.path() == "/timeout") {
        CHECK_FALSE(timeout(1h, [&] { (void)request.body(); }));
        response.status(503).send("too slow");
      } else {
        response.send("first");
      }
    });
    const std::string pieces = "GET /goes-on HTTP/1.1\r\nHost: a\r\n\r\n" + get + "\r\n";
    MemoryWire late(pieces, {});
    late.cut = ETIMEDOUT;
    service.serve(late);
    CHECK(late.came() == "HTTP/1.1 2");
    // A scope of the second handler's ends the write of the first one's answer.
    const std::string two = get + "\r\nPOST /timeout HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n";
    MemoryWire scope(two + "body", {two.size()});
    scope.cut = ECANCELED;
    service.serve(scope);
    CHECK(scope.came() == "HTTP/1.1 2");
  });
}

TEST_CASE("http: a status after the head is refused, and the message keeps its end") {
  Runtime runtime(workers(1));
  runtime.run([] {
    HttpServerOptions options;
    options.date = false;
    HttpService service(options, [](HttpRequest&, HttpResponse& response) {
      response.write("part");
      CHECK_THROWS_AS(response.status(304), std::logic_error);
    });
    MemoryWire wire(get + "\r\n", {});
    service.serve(wire);
    CHECK(wire.came() == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0\r\n\r\n");
  });
}

TEST_CASE("http: an HttpError without a status that can be sent is answered by 500 and told") {
  Runtime runtime(workers(1));
  runtime.run([] {
    int told = 0;
    HttpServerOptions options;
    options.server.on_trouble = [&](const ServerTrouble&) { ++told; };
    HttpService service(options, [](HttpRequest& request, HttpResponse&) {
      if (request.path() == "/upstream") throw HttpError(HttpFailure::no_connection, 0, "nobody there");
      throw HttpError(request.path() == "/interim" ? 100 : -1, "no status");
    });
    for (const char* path : {"/upstream", "/interim", "/negative"}) {
      MemoryWire wire("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n", {});
      service.serve(wire);
      CHECK(wire.came().starts_with("HTTP/1.1 500 "));
    }
    CHECK(service.counts().failed == 3);
    CHECK(told == 3);
    // A client that is gone is nobody's failure.
    HttpService reader({}, [](HttpRequest& request, HttpResponse&) { (void)request.body(); });
    const std::string head = post + "Content-Length: 4\r\n\r\n";
    MemoryWire gone(head, {});
    gone.fails_after = head.size();
    reader.serve(gone);
    CHECK(reader.counts().failed == 0);
  });
}

TEST_CASE(
    "http: how an answer ends: what waits behind the last one, an end by close, HEAD with a length, half a head") {
  Runtime runtime(workers(1));
  runtime.run([] {
    HttpServerOptions options;
    options.date = false;
    const auto handler = [](HttpRequest& request, HttpResponse& response) {
      if (request.method() == "HEAD") return void(response.content_length(1234));
      if (request.path() == "/pieces") return response.write("piece");
      if (request.path() == "/torn") {
        response.write("piece");
        throw std::runtime_error("torn");
      }
      response.send("x");
      response.close();
    };
    HttpService service(options, handler);
    const auto serve = [](HttpService& by, const std::string& text) {
      MemoryWire wire(text, {});
      by.serve(wire);
      return std::pair(wire.came(), wire.ended);
    };
    // close() after send() is in time; the client's next request is read away, or the kernel would say "reset".
    const auto last = serve(service, get + "\r\n" + get + "\r\n");
    CHECK(count_of(last.first, "200 OK") == 1);
    CHECK(last.second);
    // The end of the connection is said if it is that of an answer, and only if that is whole.
    CHECK(serve(service, "GET /pieces HTTP/1.0\r\n\r\n").second);
    CHECK_FALSE(serve(service, "GET /torn HTTP/1.0\r\n\r\n").second);
    CHECK(serve(service, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").first ==
          "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
    options.date = true;
    options.clock = []() -> std::time_t { throw std::runtime_error("no time"); };
    HttpService timeless(options, handler);
    CHECK(count_of(serve(timeless, get + "\r\n").first, "HTTP/1.1") == 1);
  });
}

TEST_CASE("http: an answer that ends with the connection and is not whole ends with a reset") {
  on_each_engine([] {
    SyncEvent read;
    const auto handler = [&](HttpRequest& request, HttpResponse& response) {
      response.write("part");
      response.flush();
      read.wait();
      if (request.path() == "/torn") throw std::runtime_error("torn");
      if (request.path() == "/cut") sleep(1h);
    };
    const auto end_of = [&](HttpServer& server, const std::string& path, bool stop = false) {
      read.reset();
      TcpStream stream = TcpStream::connect(server.local());
      stream.write_all("GET " + path + " HTTP/1.0\r\n\r\n");
      char room[500];
      std::string came;
      while (!came.ends_with("part")) came.append(room, stream.read(room));
      read.set();
      if (stop) server.stop(0s);
      return stream.read_result(room);
    };
    with_http({}, handler, [&](HttpServer& server) {
      CHECK(end_of(server, "/whole") == IoResult());
      CHECK(end_of(server, "/torn").os_error() == ECONNRESET);
      CHECK(end_of(server, "/cut", true).os_error() == ECONNRESET);
    });
    // Also if the wire took part of it only.
    HttpService service({}, [](HttpRequest&, HttpResponse& response) { response.write(std::string(20'000, 'x')); });
    MemoryWire cut("GET / HTTP/1.0\r\n\r\n", {});
    cut.cut = ETIMEDOUT;
    service.serve(cut);
    CHECK(cut.was_reset);
    MemoryWire modern(get + "\r\n", {});  // its chunks say that it is not whole
    modern.cut = ETIMEDOUT;
    service.serve(modern);
    CHECK_FALSE(modern.was_reset);
  });
}

TEST_CASE("http: the time of a slow handler is not the client's") {
  const sim::Report report = sim::run(1, {}, [] {
    HttpService service({}, [](HttpRequest& request, HttpResponse& response) {
      sleep(1h);
      char room[1000];
      std::size_t size = 0;
      while (const std::size_t count = request.read(room)) {
        size += count;
        sleep(1min);
      }
      response.send(std::to_string(size));
    });
    const std::string head = post + "Content-Length: 9000\r\n\r\n";
    const std::string text = head + std::string(9000, 'b');
    MemoryWire quick(text, {head.size(), head.size() + 4000});
    service.serve(quick);
    sim::check(quick.came().starts_with("HTTP/1.1 200 ") && quick.came().ends_with("9000"), quick.came());
    MemoryWire slow(text, {head.size(), head.size() + 4000});
    slow.before_read = [] { sleep(6s); };
    service.serve(slow);
    sim::check(slow.came().starts_with("HTTP/1.1 408 "), slow.came());
  });
  CAPTURE(report.text);
  CHECK(report.ok());
}

TEST_CASE("http: a request that a stop has cut in two is answered by 503, for it was none of its faults") {
  on_each_engine([] {
    const std::string head = post + "Content-Length: 4\r\n\r\n";
    for (const std::size_t part : {std::size_t{20}, head.size() + 2}) {
      HttpService service({}, echo);
      std::string came;
      Server* stops = nullptr;
      Server server(TcpListener::bind(Address::loopback()), {}, [&](Connection& connection) {
        MemoryWire wire((head + "body").substr(0, part), {});  // and then the end, as after shutdown(SHUT_RD)
        wire.before_read = [&] { stops->stop(5s); };
        service.serve(wire, connection);
        came = wire.came();
      });
      stops = &server;
      with_nursery([&](Nursery& nursery) {
        nursery.start([&] { server.run(); });
        const TcpStream stream = TcpStream::connect(server.local());
      });
      CHECK(came.starts_with("HTTP/1.1 503 "));
    }
  });
}

TEST_CASE("http client: calls share kept connections; all ways to send and get a body") {
  on_each_engine([] {
    with_http(
        {},
        [](HttpRequest& request, HttpResponse& response) {
          if (request.path() == "/moved") return response.status(302).field("Location", "/elsewhere").send("");
          if (request.path() == "/until_close") response.close();
          if (request.path() == "/query") return response.send(request.query());
          response.field("X-Method", request.method()).field("X-Type", request.field("content-type").value_or("none"));
          char room[5000];
          while (const std::size_t count = request.read(room)) response.write({room, count});
        },
        [](HttpServer& server) {
          HttpClient client;
          const std::string url = "http://" + server.local().to_string();
          const HttpReply first = client.get(url);
          CHECK(first.status == 200);
          CHECK(first.reason == "OK");
          CHECK(first.field("x-METHOD") == "GET");
          CHECK(first.body.empty());
          CHECK(client.get(url + "/query?a=b#c").body == "a=b");
          CHECK(client.head(url + "/query?a=b").body.empty());
          CHECK(client.head(url + "/query?a=b").field("Content-Length") == "3");
          const HttpReply posted = client.post(url, "text/plain", "some text");
          CHECK(posted.body == "some text");
          CHECK(posted.field("X-Type") == "text/plain");
          // A redirect is an answer.
          const HttpReply moved = client.get(url + "/moved");
          CHECK(moved.status == 302);
          CHECK(moved.field("Location") == "/elsewhere");
          // Larger than what fits into the kernel's buffers, both ways at once.
          std::string large(1'000'000, 'x');
          for (std::size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>('a' + i % 26);
          CHECK(client.post(url, "text/plain", large).body == large);
          std::size_t sent = 0;
          std::string got;
          HttpCall streamed{.method = "PUT", .url = url};
          streamed.source = [&](weft::Room room) {
            const std::size_t count = std::min<std::size_t>({room.size, 777, large.size() - sent});
            std::copy_n(large.data() + sent, count, static_cast<char*>(room.data));
            sent += count;
            return count;
          };
          streamed.sink = [&](Bytes piece) { got.append(piece.chars(), piece.size); };
          CHECK(client.request(streamed).body.empty());
          CHECK(got == large);
          CHECK(client.counts().connections == 1);
          CHECK(client.counts().kept == 1);
          CHECK(client.get(url + "/until_close").status == 200);
          CHECK(client.counts().kept == 0);
          with_nursery([&](Nursery& nursery) {
            for (int i = 0; i < 20; ++i)
              nursery.start([&, i] {
                const std::string word = "q" + std::to_string(i);
                for (int k = 0; k < 10; ++k) CHECK(client.get(url + "/query?" + word).body == word);
              });
          });
          CHECK(client.counts().connections <= 22);
          CHECK(client.counts().calls == 9 + 200);
          client.forget();
          CHECK(client.counts().kept == 0);
        });
  });
}

TEST_CASE(
    "http client: an address that the kernel gives up is not the last one; a connection that is none is an error") {
  on_each_engine([] {
    with_http({}, echo, [](HttpServer& server) {
      int connects = 0;
      const auto names = [&](IoRequest& request) {
        if (request.op == IoOp::connect && ++connects == 1) return IoResult::failed(ETIMEDOUT);
        if (request.op != IoOp::resolve) return perform_io(request);
        const Address found = Address::loopback(static_cast<std::uint16_t>(std::stoi(request.to)));
        for (std::size_t i = 0; i < 2; ++i)
          std::memcpy(static_cast<sockaddr_storage*>(request.data) + i, found.data(), found.size);
        return IoResult(2);
      };
      intercept(names, [&] {
        HttpClient client;
        CHECK(client.get("http://made.up:" + std::to_string(server.local().port()) + "/").status == 200);
      });
      CHECK(connects == 2);
    });
    HttpClient none({.connect = [](const HttpOrigin&, Deadline) { return std::unique_ptr<Wire>(); }});
    CHECK_THROWS_AS((void)none.get("http://a/"), HttpError);
  });
}

TEST_CASE("http client: whatever the other side does is an answer or an error by name, in time") {
  on_each_engine([] {
    std::string url;
    HttpClientOptions options;
    options.max_head = 300;
    options.max_body = 100;
    options.timeout = 5s;
    // What a client makes of an answer: the status and the body, or what failed.
    const auto outcome = [&](const std::string& answer, bool stays = false, const std::string& method = "GET") {
      HttpClient client(options);
      std::string result;
      TcpListener listener = TcpListener::bind(Address::loopback());
      url = "http://" + listener.local().to_string() + "/x";
      with_nursery([&](Nursery& nursery) {
        auto server = nursery.spawn([&] {
          TcpStream stream = listener.accept();
          read_head(stream);
          std::size_t written = 0;
          char room[100];
          (void)stream.write_all_result(answer, written);
          if (stays) (void)stream.read_result(room);
        });
        try {
          HttpCall call{.method = method, .url = url};
          if (stays) call.timeout = 20ms;
          const HttpReply reply = client.request(call);
          result = std::to_string(reply.status) + " " + reply.body + (client.counts().kept == 1 ? " kept" : "");
        } catch (const HttpError& error) {
          CHECK(std::string(error.what()).find(url) != std::string::npos);
          result = to_string(error.failure());
        }
        client.forget();
        if (stays) server.cancel();  // its client may have been too late to come at all
      });
      return result;
    };
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    CHECK(outcome(ok + "Content-Length: 2\r\n\r\nab") == "200 ab kept");
    CHECK(outcome(ok + "Content-Length: 2\r\n\r\nabc") == "200 ab");  // nobody asked for the rest
    CHECK(outcome(ok + "Content-Length: 2\r\nConnection: close\r\n\r\nab") == "200 ab");
    CHECK(outcome("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab") == "200 ab");
    CHECK(outcome(ok + "\r\nuntil the end") == "200 until the end");
    CHECK(outcome(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n") == "200 ab kept");
    CHECK(outcome("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n") == "200  kept");
    CHECK(outcome(ok + "Content-Length: 200\r\n\r\n", false, "HEAD") == "200  kept");
    CHECK(outcome("") == "closed");
    CHECK(outcome("HTTP/1.1 20") == "closed");
    CHECK(outcome(ok + "Content-Length: 5\r\n\r\nab") == "closed");
    CHECK(outcome(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab") == "closed");
    CHECK(outcome(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n") == "bad message");
    CHECK(outcome(ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef") == "bad message");
    CHECK(outcome("SSH-2.0-OpenSSH\r\n") == "bad message");
    CHECK(outcome("HTTP/1.1 101 Switching\r\n\r\n") == "bad message");
    CHECK(outcome(ok + "X: " + std::string(400, 'x') + "\r\n\r\n") == "too large");
    CHECK(outcome(ok + "Content-Length: 101\r\n\r\n") == "too large");
    CHECK(outcome(ok + "\r\n" + std::string(101, 'x')) == "too large");
    CHECK(outcome("", true) == "timed out");
    CHECK(outcome(ok + "Content-Length: 5\r\n\r\nab", true) == "timed out");
    std::string interim;
    for (int i = 0; i < 100; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
    CHECK(outcome(interim + ok + "\r\n") == "bad message");

    // Nothing is reserved at its word.
    options.max_body = SIZE_MAX;
    CHECK(outcome(ok + "Content-Length: 900000000000000000\r\n\r\nab") == "closed");

    HttpClient client(options);
    const auto failure = [&](const HttpCall& call) {
      try {
        (void)client.request(call);
        return std::string("none");
      } catch (const HttpError& error) {
        return std::string(to_string(error.failure()));
      }
    };
    CHECK(failure({.url = url}) == "no connection");
    CHECK(failure({.url = "ftp://a/"}) == "bad request");
    CHECK(failure({.url = "https://127.0.0.1/"}) == "bad request");
    CHECK(failure({.url = "http:///x"}) == "bad request");
    CHECK(failure({.url = "http://a:0/"}) == "bad request");
    CHECK(failure({.url = "http://a:99999/"}) == "bad request");
    CHECK(failure({.url = "http://user@a/"}) == "bad request");
    CHECK(failure({.url = "http://a/\r\nX: y"}) == "bad request");
    CHECK(failure({.url = "http://a /"}) == "bad request");
  });
  const HttpUrl six = parse_http_url("HTTP://[::1]:8080?q");
  CHECK(six.origin.host == "::1");
  CHECK(six.origin.port == 8080);
  CHECK(six.authority == "[::1]:8080");
  CHECK(six.target == "/?q");
  CHECK(parse_http_url("http://Name").authority == "name");
}

TEST_CASE("http client: a kept connection that the server has closed costs no call") {
  on_each_engine([] {
    static constexpr const char* late =
        "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for (const auto& [at_once, says] : {std::pair(true, ""), {false, ""}, {false, late}}) {
      TcpListener listener = TcpListener::bind(Address::loopback());
      with_nursery([&](Nursery& nursery) {
        // Answers one request per connection, and does not say so. Closes after it, or when the next one has come.
        nursery.start([&] {
          for (int i = 0; i < 5; ++i) {
            TcpStream stream = listener.accept();
            read_head(stream);
            stream.write_all("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
            if (at_once || i == 4) continue;
            read_head(stream);
            stream.write_all(says);
          }
        });
        HttpClient client;
        const std::string url = "http://" + listener.local().to_string();
        for (int i = 0; i < 5; ++i) {
          const HttpReply reply = client.get(url);
          CHECK(reply.body == "x");
        }
        CHECK(client.counts().connections == 5);
      });
    }
  });
}

TEST_CASE("http client: what has side effects is not asked twice") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        TcpStream stream = listener.accept();
        read_head(stream);
        stream.write_all("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        read_head(stream);  // and goes
      });
      HttpClient client;
      const std::string url = "http://" + listener.local().to_string();
      const HttpReply reply = client.post(url, "text/plain", "");
      CHECK(reply.body == "x");
      HttpFailure failure = HttpFailure::refused;
      try {
        (void)client.post(url, "text/plain", "");
      } catch (const HttpError& error) {
        failure = error.failure();
      }
      CHECK(failure == HttpFailure::closed);
      CHECK(client.counts().connections == 1);
    });
  });
}

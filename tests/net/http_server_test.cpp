// SPDX-License-Identifier: MIT
#include "weft/http_server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
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
#include "net/http_help.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/sim.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

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
std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

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

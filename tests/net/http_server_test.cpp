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
#include "weft/time.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

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

// SPDX-License-Identifier: MIT
#include "weft/http_client.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "net/http_help.hpp"
#include "weft/intercept.hpp"
#include "weft/nursery.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

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

// SPDX-License-Identifier: MIT
// HTTP exchanges that end otherwise than their handlers meant: too slow, thrown, stopped, cut short.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "net/http_help.hpp"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/sim.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

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

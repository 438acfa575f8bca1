// SPDX-License-Identifier: MIT
#include "weft/server.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "net/server_help.hpp"
#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sim.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"
#include "weft/unix_socket.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("server: who comes beyond max_connections waits and is not dropped [SERVE-1]") {
  on_each_engine([] {
    std::atomic<int> most{0};
    std::atomic<int> here{0};
    const auto handler = [&](Connection& client) {
      const int now_here = ++here;
      for (int seen = most; seen < now_here && !most.compare_exchange_weak(seen, now_here);) {
      }
      echo(client);
      --here;
    };
    with_server({.max_connections = 3}, handler, [&](Server& server) {
      std::vector<TcpStream> seated;
      for (int i = 0; i < 3; ++i) seated.push_back(TcpStream::connect(server.local()));
      for (TcpStream& stream : seated) CHECK(talks(stream));
      TcpStream fourth = TcpStream::connect(server.local());
      fourth.write_all("ping");
      char back[4];
      CHECK(fourth.read_result(back, std::chrono::steady_clock::now() + 5ms).os_error() == ETIMEDOUT);
      CHECK(server.counts().full == 1);
      seated.clear();
      fourth.read_exactly(back);
      with_nursery([&](Nursery& nursery) {
        for (int i = 0; i < 26; ++i)
          nursery.start([&] {
            TcpStream stream = TcpStream::connect(server.local());
            for (int k = 0; k < 5; ++k) CHECK(talks(stream));
          });
      });
      CHECK(server.counts().accepted == 30);
      CHECK(most.load() == 3);
    });
  });
}

TEST_CASE("server: what a handler throws ends its connection, is counted and told, and the others go on [SERVE-3]") {
  on_each_engine([] {
    std::mutex mutex;
    std::vector<std::string> told;
    ServerOptions options;
    options.on_trouble = [&](const ServerTrouble& trouble) {
      const std::lock_guard guard(mutex);
      try {
        std::rethrow_exception(trouble.error);
      } catch (const std::exception& error) {
        told.emplace_back(error.what());
      }
      CHECK(trouble.peer.port() != 0);
    };
    std::atomic<int> number{0};
    const auto handler = [&](Connection& client) {
      if (++number % 2 == 0) throw std::runtime_error("odd");
      echo(client);
    };
    with_server(options, handler, [&](Server& server) {
      for (int i = 0; i < 10; ++i) {
        TcpStream stream = TcpStream::connect(server.local());
        if (i % 2 == 0) {
          CHECK(talks(stream));
        } else {
          char byte = 0;
          CHECK(stream.read_result({&byte, 1}).count() == 0);
        }
      }
      while (server.counts().open != 0) yield_now();
      CHECK(server.counts().failed == 5);
    });
    CHECK(told == std::vector<std::string>(5, "odd"));
  });
}

TEST_CASE("server: a Cancelled that is not of the connection's own task ends that connection alone [SERVE-3]") {
  on_each_engine([] {
    const auto handler = [](Connection& client) {
      char byte = 0;
      if (client.read({&byte, 1}, never).count() == 0) return;
      std::size_t written = 0;
      if (byte == 'p') return void(client.write_bytes("ping", written, never));
      (void)with_nursery([](Nursery& nursery) {
        nursery.cancel();
        yield_now();
        return 1;
      });
    };
    with_server({}, handler, [&](Server& server) {
      TcpStream other = TcpStream::connect(server.local());
      TcpStream stream = TcpStream::connect(server.local());
      stream.write_all("c");
      char byte = 0;
      CHECK(stream.read_result({&byte, 1}).count() == 0);
      CHECK(talks(other));
      TcpStream later = TcpStream::connect(server.local());
      CHECK(talks(later));
      CHECK(server.counts().failed == 1);
    });
  });
}

TEST_CASE("server: the idle time is that of each wait, also of a long write to a slow reader") {
  const sim::Report report = sim::run(1, {}, [] {
    constexpr std::size_t large = 1 << 20;
    const std::string text(large / 2, 'x');
    IoResult ends;
    std::size_t written = 0;
    const auto handler = [&](Connection& client) {
      const Bytes pieces[] = {text, "", text};
      ends = client.write_all(pieces, written, never);
    };
    with_server({.idle = 1s}, handler, [&](Server& server) {
      const auto read_slowly = [&](std::chrono::nanoseconds pause) {
        TcpStream stream = TcpStream::connect(server.local());
        char room[8192];
        std::size_t all = 0;
        for (;;) {
          sleep(pause);
          const IoResult got = stream.read_result(room);
          if (got.count() == 0) return all;
          all += got.count();
        }
      };
      const Deadline begin = now();
      sim::check(read_slowly(100ms) == large && ends.ok() && written == large, "it was read in time");
      sim::check(now() - begin > 5s, "it took longer than the idle time");
      sim::check(read_slowly(1h) < large && ends.os_error() == ETIMEDOUT && written < large, "it was not");
    });
  });
  CAPTURE(report.text);
  CHECK(report.ok());
}

TEST_CASE("server: who is silent for the idle time gets ETIMEDOUT, counted from what was said last") {
  on_each_engine([] {
    std::atomic<int> ended{0};
    const auto handler = [&](Connection& client) {
      char room[16];
      IoResult got;
      std::size_t written = 0;
      while ((got = client.read(room, never)).count() != 0)
        (void)client.write_bytes({room, got.count()}, written, never);
      if (got.os_error() == ETIMEDOUT) ++ended;
    };
    with_server({.idle = 30ms}, handler, [&](Server& server) {
      TcpStream silent = TcpStream::connect(server.local());
      char byte = 0;
      const auto before = std::chrono::steady_clock::now();
      silent.write_all("x");
      CHECK(silent.read({&byte, 1}) == 1);
      CHECK(silent.read_result({&byte, 1}).count() == 0);
      CHECK(std::chrono::steady_clock::now() - before >= 30ms);
      CHECK(ended.load() == 1);
    });
  });
}

TEST_CASE("server: stop ends who rests at once, lets who works go on, and cancels the rest after the grace [SERVE-4]") {
  on_each_engine([] {
    SyncEvent finish;
    std::atomic<int> working{0};
    std::atomic<int> told{0};
    const auto handler = [&](Connection& client) {
      char what = 0;
      std::size_t written = 0;
      if (!client.rest()) {
        ++told;
        return;
      }
      const IoResult got = client.read({&what, 1}, never);
      const bool last = !client.work();
      if (got.count() == 0) {
        if (last) ++told;
        return;
      }
      ++working;
      if (what == 'w') finish.wait();
      if (what == 's') sleep(1h);
      if (client.stopping()) ++told;
      (void)client.write_bytes("done", written, never);
    };
    for (const bool hurried : {false, true}) {
      finish.reset();
      working = told = 0;
      Server server(TcpListener::bind(Address::loopback()), {}, handler);
      with_nursery([&](Nursery& nursery) {
        auto running = nursery.spawn([&] { server.run(); });
        TcpStream resting = TcpStream::connect(server.local());
        TcpStream works = TcpStream::connect(server.local());
        TcpStream sleeps = TcpStream::connect(server.local());
        works.write_all("w");
        sleeps.write_all("s");
        while (working != 2 || server.counts().open != 3) yield_now();
        yield_now();
        char room[4];
        if (hurried) {
          server.stop(1h);
          CHECK(resting.read_result(room).count() == 0);
        }
        finish.set();
        works.read_exactly(room);
        CHECK(std::string_view(room, 4) == "done");
        until([&] { return server.counts().open == (hurried ? 1U : 2U); });
        server.stop(hurried ? 0s : 20ms);  // again, or for the first time
        CHECK(resting.read_result(room).count() == 0);
        CHECK(sleeps.read_result(room).count() == 0);
        running.join();
      });
      CHECK(server.counts().cut == 1);
      CHECK(server.counts().open == 0);
      CHECK(told.load() == (hurried ? 2 : 1));
    }
  });
}

TEST_CASE("server: its end does not depend on who is there: nobody, a full house, a run that is cancelled") {
  on_each_engine([] {
    with_server({}, echo, [](Server& server) { CHECK(server.counts().accepted == 0); });
    // Full, and one more at the door.
    Server full(TcpListener::bind(Address::loopback()), {.max_connections = 1}, echo);
    with_nursery([&](Nursery& nursery) {
      auto running = nursery.spawn([&] { full.run(); });
      TcpStream first = TcpStream::connect(full.local());
      CHECK(talks(first));
      TcpStream second = TcpStream::connect(full.local());
      full.stop(10ms);
      running.join();
      char byte = 0;
      CHECK(second.read_result({&byte, 1}).count() == 0);
    });
    Server cancelled(TcpListener::bind(Address::loopback()), {}, echo);
    CHECK_FALSE(timeout(10ms, [&] { cancelled.run(); }));
    CHECK(cancelled.counts().open == 0);
  });
}

TEST_CASE("server: in every simulated schedule a stop answers each request that was taken up, and ends [SERVE-4]") {
  sim::ExploreOptions options;
  options.seeds = 300;
  options.twice = false;
  const sim::Exploration found = sim::explore(options, [] {
    std::atomic<std::uint64_t> handled{0};
    std::atomic<std::uint64_t> answered{0};
    bool stopped = false;
    auto server = sim::on_host("server", [&] {
      HttpServerOptions http;
      http.server.max_connections = 3;
      http.date = false;
      return std::make_unique<HttpServer>(TcpListener::bind(Address::any(80)), http,
                                          [&](HttpRequest& request, HttpResponse& response) {
                                            ++handled;
                                            if (request.path() == "/slow") sleep(20ms);
                                            response.send(request.body());
                                          });
    });
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { sim::on_host("server", [&] { server->run(); }); });
      for (int i = 0; i < 4; ++i)
        nursery.start([&, i] {
          HttpClient client;
          try {
            for (int k = 0; k < 4; ++k) {
              const std::string said = std::to_string(i) + "/" + std::to_string(k);
              const std::string path = (i + k) % 2 == 0 ? "/slow" : "/";
              const HttpReply reply = client.request({.method = "PUT", .url = "http://server" + path, .body = said});
              sim::check(reply.status == 200 && reply.body == said, "an answer to another question");
              ++answered;
            }
          } catch (const HttpError& error) {
            const bool late = error.failure() == HttpFailure::closed || error.failure() == HttpFailure::no_connection;
            sim::check(late && stopped, error.what());
          }
        });
      sleep(std::chrono::milliseconds(5 + sim::choose(80)));
      stopped = true;
      server->stop(10s);
    });
    sim::check(server->counts().open == 0 && server->counts().cut == 0, "everybody has left by himself");
    sim::check(handled == answered, "who was taken up was answered");
  });
  CHECK(found.ok());
}

TEST_CASE("server: a cancel at any point of a server, a client and their talk leaves nothing behind") {
  const sim::CancelReport report = sim::cancel_everywhere({}, [] {
    HttpServer server(TcpListener::bind(Address::loopback(80)), {}, [](HttpRequest& request, HttpResponse& response) {
      const std::string body = request.body();
      response.write(body);
      response.flush();
      response.write(body);
    });
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { server.run(); });
      HttpClient client;
      const std::string large(100'000, 'x');
      const HttpReply small = client.post("http://127.0.0.1/", "text/plain", "word");
      sim::check(small.body == "wordword", "small");
      const HttpReply twice = client.post("http://127.0.0.1/", "text/plain", large);
      sim::check(twice.body.size() == 200'000, "large");
      server.stop(1s);
    });
  });
  CHECK(report.ok());
  CHECK(report.points > 30);
}

TEST_CASE("server: over a Unix listener as over TCP: echo, HTTP, and an orderly end [N-051]") {
  on_each_engine([] {
    const auto talk_to = [](const Address& where, std::string_view question) {
      UnixStream stream = UnixStream::connect(where);
      stream.write_all(question);
      std::string answer;
      char room[512];
      while (answer.find("pong") == std::string::npos) {
        const std::size_t n = stream.read(room);
        if (n == 0) break;
        answer.append(room, n);
      }
      return answer;
    };
    const auto bind = [](const char* name) {  // an abstract one
      return UnixListener::bind(Address::unix_path(std::string(1, '\0') + name + std::to_string(getpid())));
    };
    Server plain(bind("weft-plain-"), {}, [](Connection& connection) {
      char room[4];
      std::size_t written = 0;
      while (connection.read(room, never).count() != 0) (void)connection.write_bytes("pong", written, never);
    });
    HttpServer http(bind("weft-http-"), {}, [](HttpRequest&, HttpResponse& response) { response.send("pong"); });
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { plain.run(); });
      nursery.start([&] { http.run(); });
      UnixStream resting = UnixStream::connect(plain.local());
      for (int i = 0; i < 10; ++i) {
        CHECK(talk_to(plain.local(), "ping") == "pong");
        CHECK(talk_to(http.local(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 200 "));
      }
      resting.close();
      plain.stop(5s);
      http.stop(5s);
    });
    CHECK(plain.counts().accepted == 11);
    CHECK(http.counts().accepted == 10);
    CHECK(http.http_counts().requests == 10);
    CHECK((plain.counts().open == 0 && http.counts().open == 0));
  });
}

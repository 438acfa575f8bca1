// SPDX-License-Identifier: MIT
#include "weft/tcp.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/buffered.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/wire.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

void echo(TcpStream& client) {
  char room[4096];
  while (const std::size_t n = client.read(room)) client.write_all({room, n});
}

}  // namespace

TEST_CASE("tcp: an echo server serves many clients at once [N-051] [N-056]") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    const Address where = listener.local();
    CHECK(where.port() != 0);
    with_nursery([&](Nursery& nursery) {
      auto server = nursery.spawn([&] {
        with_nursery([&](Nursery& clients) {
          for (int i = 0; i < 20; ++i) clients.start([client = listener.accept()]() mutable { echo(client); });
        });
      });
      for (int i = 0; i < 20; ++i) {
        nursery.start([&, i] {
          TcpStream stream = TcpStream::connect(where);
          CHECK(stream.peer() == where);
          for (int round = 0; round < 20; ++round) {
            const std::string text = "client " + std::to_string(i) + " round " + std::to_string(round);
            stream.write_all(text);
            std::string back(text.size(), ' ');
            stream.read_exactly(back);
            CHECK(back == text);
          }
        });
      }
      server.join();
    });
  });
}

TEST_CASE("tcp: half close: the end in one direction, bytes in the other [N-051]") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        TcpStream client = listener.accept();
        std::string all;
        char room[100];
        while (const std::size_t n = client.read(room)) all.append(room, n);
        client.write_all("got " + all);
      });
      TcpStream stream = TcpStream::connect(listener.local());
      stream.write_all("question");
      stream.shutdown_write();
      std::string answer(12, ' ');
      stream.read_exactly(answer);
      CHECK(answer == "got question");
      char byte = 0;
      CHECK(stream.read({&byte, 1}) == 0);
      CHECK(stream.write_result("x").os_error() == EPIPE);  // no signal
    });
  });
}

TEST_CASE("tcp: a reset, a refusal and a place that cannot be reached are errors by name [N-051]") {
  on_each_engine([] {
    Address where;
    {
      TcpListener listener = TcpListener::bind(Address::loopback());
      where = listener.local();
      TcpStream stream = TcpStream::connect(where);
      TcpStream client = listener.accept();
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          char room[10];
          return stream.read_result(room).os_error();
        });
        until_parked(reader);
        client.reset_on_close();
        client.close();
        CHECK(reader.join() == ECONNRESET);
      });
    }
    TcpStream none;
    CHECK(TcpStream::connect_result(none, where).os_error() == ECONNREFUSED);
    CHECK_FALSE(none.is_open());
    CHECK_THROWS_AS((void)TcpStream::connect(where), std::system_error);
    // The kernel says so at once: a broadcast address is nobody's.
    const int error = TcpStream::connect_result(none, Address::ip("255.255.255.255", 9)).os_error();
    CHECK((error == ENETUNREACH || error == EACCES || error == EHOSTUNREACH));
  });
}

TEST_CASE("tcp: connect and accept keep their deadlines, and can be cancelled") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    TcpStream stream;
    CHECK(listener.accept_result(stream, std::chrono::steady_clock::now() + 5ms).os_error() == ETIMEDOUT);
    CHECK_FALSE(timeout(5ms, [&] { (void)listener.accept(); }));
    // A full queue: the kernel drops what comes then, and the connection hangs.
    TcpListener full = TcpListener::bind(Address::loopback(), {.backlog = 0});
    std::vector<TcpStream> there;
    int error = 0;
    for (int i = 0; i < 8 && error == 0; ++i) {
      TcpStream next;
      error = TcpStream::connect_result(next, full.local(), std::chrono::steady_clock::now() + 30ms).os_error();
      there.push_back(std::move(next));
    }
    CHECK(error == ETIMEDOUT);
    CHECK_FALSE(timeout(10ms, [&] { (void)TcpStream::connect(full.local()); }));
  });
}

TEST_CASE("tcp: closing a listener ends those who wait in accept [B37]") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    with_nursery([&](Nursery& nursery) {
      auto acceptor = nursery.spawn([&] {
        TcpStream client;
        return listener.accept_result(client).os_error();
      });
      until_parked(acceptor);
      listener.close();
      CHECK(acceptor.join() == EBADF);
    });
  });
}

TEST_CASE("tcp: lines through buffers, and vectored writes of more pieces than one call takes") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        Buffered client(listener.accept(), 32);
        while (const auto line = client.read_until('\n')) {
          client.write_all("<" + *line + ">\n");
          client.flush();
        }
      });
      Buffered stream(TcpStream::connect(listener.local()), 32);
      for (const std::size_t size : {0UL, 1UL, 31UL, 32UL, 33UL, 1000UL}) {
        const std::string text(size, 'a');
        stream.write_all(text + "\n");
        stream.flush();
        CHECK(stream.read_until("\n") == "<" + text + ">");
      }
      std::vector<std::string> words(200, "word ");
      std::vector<Bytes> pieces(words.begin(), words.end());
      pieces.emplace_back("\n");
      stream.stream().writev_all(pieces);
      CHECK(stream.read_until(std::string_view(">\n"))->size() == 1001);
      CHECK_THROWS_AS((stream.write_all("0123456789\n"), stream.flush(), stream.read_until('\n', 5)),
                      std::system_error);
    });
  });
}

TEST_CASE("tcp: many connections come and go, and no descriptor is left [B37]") {
  for (const IoEngine engine : engines()) {
    const auto open_now = [] {
      const long fd = detail::sys::open("/dev/null", 0);
      (void)detail::sys::close(static_cast<int>(fd));
      return fd;
    };
    const long before = open_now();
    {
      Runtime runtime(with_engine(engine, 2));
      runtime.run([] {
        TcpListener listener = TcpListener::bind(Address::loopback());
        with_nursery([&](Nursery& nursery) {
          auto server = nursery.spawn([&] {
            with_nursery([&](Nursery& clients) {
              for (int i = 0; i < 300; ++i)
                clients.start([client = listener.accept()]() mutable {
                  char room[16];
                  IoResult got;
                  while ((got = client.read_result(room)).count() != 0) client.write_all({room, got.count()});
                  CHECK((got.ok() || got.os_error() == ECONNRESET));
                });
            });
          });
          for (int c = 0; c < 3; ++c) {
            nursery.start([&] {
              for (int i = 0; i < 100; ++i) {
                TcpStream stream = TcpStream::connect(listener.local());
                stream.write_all("ping");
                char back[4];
                stream.read_exactly(back);
                if (i % 3 == 0) stream.reset_on_close();
              }
            });
          }
          server.wait();
        });
      });
    }
    CHECK(open_now() == before);
  }
}

TEST_CASE("wire: TCP as a wire: all pieces arrive in order, the end is 0, errors and cancels are answers") {
  on_each_engine([] {
    TcpListener listener = TcpListener::bind(Address::loopback());
    TcpWire near(TcpStream::connect(listener.local()));
    TcpWire far(listener.accept());
    CHECK(near.peer() == listener.local());
    const std::string big(300'000, 'b');
    std::vector<Bytes> pieces(150, Bytes("ab"));  // more than one call takes
    pieces.emplace_back(Bytes(big));
    pieces.emplace_back(Bytes());
    pieces.emplace_back(Bytes("end"));
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        std::size_t written = 0;
        CHECK(near.write_all(pieces, written, never).ok());
        CHECK(written == 300 + big.size() + 3);
        CHECK(near.shutdown_write(never).ok());
      });
      std::string all;
      char room[5000];
      for (;;) {
        const IoResult n = far.read(room, never);
        REQUIRE(n.ok());
        if (n.count() == 0) break;
        all.append(room, n.count());
      }
      CHECK(all.size() == 300 + big.size() + 3);
      CHECK(all.starts_with("abab"));
      CHECK(all.ends_with("bbend"));
    });
    char room[10];
    CHECK(near.read(room, std::chrono::steady_clock::now() + 2ms).os_error() == ETIMEDOUT);
    (void)timeout(2ms, [&] { CHECK(near.read(room, never).os_error() == ECANCELED); });
    std::size_t written = 1;
    CHECK(near.write_bytes("late", written, never).os_error() == EPIPE);
    CHECK(written == 0);
    CHECK(near.close().ok());
    CHECK(near.close().os_error() == EBADF);
    CHECK(near.peer() == Address());
    CHECK(near.read(room, never).os_error() == EBADF);
  });
}

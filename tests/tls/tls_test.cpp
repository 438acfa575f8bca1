// SPDX-License-Identifier: MIT
#include "weft/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/tool_hooks.hpp"
#include "io/engines.hpp"
#include "tls/pair.hpp"
#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/process.hpp"
#include "weft/scope.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

std::string read_all(TlsStream& stream) {
  std::string all;
  char room[4096];
  while (const std::size_t n = stream.read(room)) all.append(room, n);
  return all;
}

std::string megabyte(char salt) {
  std::string text(1 << 20, '\0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i * 31 + i / 257 + static_cast<unsigned char>(salt));
  return text;
}

// The handshake as both sides see it.
struct Handshake {
  TlsFailure client;
  TlsFailure server;
  IoResult result;
};
Handshake shake(const TlsContext& server, const TlsContext& client, const std::string& host) {
  Handshake seen;
  Pair plain;
  with_nursery([&](Nursery& nursery) {
    nursery.start([&] {
      TlsStream far;
      (void)TlsStream::accept_result(far, server, std::move(plain.far));
      char byte = 0;
      if (far.is_open()) (void)far.read_result({&byte, 1});  // TLS 1.3: a client's refusal comes after our end
      seen.server = far.failure();
    });
    TlsStream near;
    seen.result = TlsStream::connect_result(near, client, std::move(plain.near), host);
    CHECK(near.is_open() == seen.result.ok());
    seen.client = near.failure();
  });
  return seen;
}

}  // namespace

TEST_CASE("tls: a handshake, an agreed protocol, and words both ways [N-055]") {
  on_each_engine([] {
    TlsPair pair(server_context("good", {"h2", "http/1.1"}), client_context({"http/1.1", "spdy"}));
    CHECK(pair.near.version() == "TLSv1.3");
    CHECK(pair.near.cipher() == pair.far.cipher());
    CHECK(pair.near.alpn() == "http/1.1");
    CHECK(pair.far.alpn() == "http/1.1");
    CHECK(pair.near.peer().port() != 0);
    pair.near.write_all("question");
    std::string text(8, ' ');
    pair.far.read_exactly(text);
    CHECK(text == "question");
    pair.far.write_all("answer");
    pair.far.shutdown_write();
    CHECK(read_all(pair.near) == "answer");
    // Half closed: the other direction goes on.
    pair.near.write_all("thanks");
    pair.near.shutdown_write();
    CHECK(read_all(pair.far) == "thanks");
    std::size_t written = 0;
    CHECK_FALSE(pair.near.write_all_result("more", written).ok());
  });
}

TEST_CASE("tls: an address as the host, TLS 1.2 as the least, and protocols nobody shares [N-055]") {
  run([] {
    CHECK(TlsPair(server_context(), client_context(), "127.0.0.1").near.is_open());
    const Handshake none = shake(server_context("good", {"h2"}), client_context({"http/1.1"}), "localhost");
    CHECK(none.client.fault == TlsFault::refused);
    CHECK(none.client.what.find("no application protocol") != std::string::npos);
    CHECK_THROWS_AS((void)TlsContext::server({.certificate_file = "/nowhere/c", .key_file = "/nowhere/k"}),
                    std::runtime_error);
    CHECK_THROWS_WITH_AS((void)TlsContext::server({.certificate_file = certificates().certificate("good"),
                                                   .key_file = certificates().key("other")}),
                         doctest::Contains("other.key"), std::runtime_error);
    Pair plain;
    CHECK_THROWS_AS((void)TlsStream::connect(server_context(), std::move(plain.near), "localhost"),
                    std::invalid_argument);
    CHECK(ERR_peek_error() == 0);
  });
}

TEST_CASE("tls: one megabyte in both directions at once, a reader and a writer on each side [N-055]") {
  on_each_engine([] {
    const std::string there = megabyte('a');
    const std::string back = megabyte('b');
    TlsPair pair;
    std::string got_there;
    std::string got_back;
    with_nursery([&](Nursery& nursery) {
      const auto writes = [](TlsStream& stream, const std::string& text) {
        for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size * 3 % 100'003)
          stream.write_all({text.data() + at, std::min(size, text.size() - at)});
        stream.shutdown_write();
      };
      nursery.start([&] { writes(pair.near, there); });
      nursery.start([&] { got_back = read_all(pair.near); });
      nursery.start([&] { writes(pair.far, back); });
      nursery.start([&] { got_there = read_all(pair.far); });
    });
    CHECK(got_there == there);
    CHECK(got_back == back);
  });
}

TEST_CASE("tls: a certificate that is self-signed, for another host, or over is refused; both sides hear why [N-055]") {
  on_each_engine([] {
    const struct {
      const char* name;
      const char* words;
    } bad[] = {
        {"self", "self-signed certificate"}, {"other", "hostname mismatch"}, {"expired", "certificate has expired"}};
    for (const auto& [name, words] : bad) {
      const Handshake seen = shake(server_context(name), client_context(), "localhost");
      CHECK(seen.result.os_error() == EKEYREJECTED);
      CHECK(seen.client.fault == TlsFault::certificate);
      CHECK_MESSAGE(seen.client.what.find(words) != std::string::npos, seen.client.what);
      CHECK(seen.server.fault == TlsFault::refused);
    }
    // An address that the certificate does not name.
    CHECK(shake(server_context(), client_context(), "127.0.0.2").client.fault == TlsFault::certificate);
    // The system's roots do not know ours.
    CHECK(shake(server_context(), TlsContext::client(), "localhost").client.fault == TlsFault::certificate);
    // Who does not want to know.
    CHECK(shake(server_context("self"), TlsContext::client({.verify = false}), "localhost").result.ok());
    Pair plain;
    CHECK_THROWS_AS((void)TlsStream::connect(client_context(), std::move(plain.near), ""), std::invalid_argument);
  });
}

TEST_CASE("tls: plain text at a TLS port, and a server that does not speak it, are told in words") {
  on_each_engine([] {
    const TlsContext context = server_context();
    for (const char* text : {"GET / HTTP/1.1\r\n\r\n", "EHLO somebody.example\r\n"}) {
      Pair plain;
      plain.near.write_all(text);
      TlsStream far;
      CHECK(TlsStream::accept_result(far, context, std::move(plain.far)).os_error() == EPROTO);
      CHECK_FALSE(far.is_open());
      CHECK(far.failure().fault == TlsFault::not_tls);
      CHECK(far.failure().what.find("does not speak TLS") != std::string::npos);
    }
    Pair plain;
    plain.far.write_all("220 mail.example ESMTP\r\n");
    try {
      (void)TlsStream::connect(client_context(), std::move(plain.near), "localhost");
      CHECK(false);
    } catch (const TlsError& error) {
      CHECK(error.fault() == TlsFault::not_tls);
    }
    // And one that says nothing, but goes.
    Pair gone;
    gone.far.close();
    TlsStream near;
    CHECK_FALSE(TlsStream::connect_result(near, client_context(), std::move(gone.near), "localhost").ok());
  });
}

TEST_CASE("tls: a slow handshake is ended by its deadline or a cancel, and the stream is closed") {
  on_each_engine([] {
    const TlsContext context = server_context();
    Pair plain;
    TlsStream far;
    CHECK(TlsStream::accept_result(far, context, std::move(plain.far), now() + 5ms).os_error() == ETIMEDOUT);
    CHECK_FALSE(far.is_open());
    Pair half;
    half.near.write_all({"\x16\x03\x01\x02\x00\x01", 6});  // the beginning of a hello
    CHECK_FALSE(timeout(5ms, [&] { (void)TlsStream::accept(context, std::move(half.far)); }));
    char byte = 0;
    CHECK(half.near.read_result({&byte, 1}).count() == 0);  // it was closed
    Pair cancelled;
    with_nursery([&](Nursery& nursery) {
      auto task = nursery.spawn([&] { (void)TlsStream::accept(context, std::move(cancelled.far)); });
      until_parked(task);
      task.cancel();
      task.wait();
      CHECK(task.status() == TaskStatus::cancelled);
    });
  });
}

TEST_CASE("tls: the end that was announced reads as the end, one that was not is a truncation") {
  on_each_engine([] {
    char room[16];
    {
      TlsPair pair;
      pair.far.shutdown_write();
      CHECK(pair.near.read(room) == 0);
      CHECK(pair.near.read(room) == 0);
    }
    {
      TlsPair pair;
      pair.far.write_all("part");
      pair.far.close();
      std::string text(4, ' ');
      pair.near.read_exactly(text);
      CHECK(text == "part");
      CHECK(pair.near.read_result(room).os_error() == ENODATA);
      CHECK(pair.near.failure().fault == TlsFault::truncated);
      CHECK_THROWS_AS((void)pair.near.read(room), TlsError);
    }
    {
      // Both say it, and wait for the other: nothing is lost.
      TlsPair pair;
      with_nursery([&](Nursery& nursery) {
        nursery.start([&] { pair.far.shutdown(); });
        pair.near.write_all("not wanted");
        pair.near.shutdown();
      });
      CHECK_FALSE(pair.near.is_open());
      CHECK_FALSE(pair.far.is_open());
      CHECK(pair.near.failure().fault == TlsFault::none);
      CHECK(pair.near.read_result(room).os_error() == EBADF);
    }
    {
      // One that never answers.
      TlsPair pair;
      CHECK(pair.near.shutdown_result(now() + 5ms).os_error() == ETIMEDOUT);
      CHECK_FALSE(pair.near.is_open());
    }
  });
}

TEST_CASE("tls: a handshake that cannot begin leaves no open stream") {
  on_each_engine([] {
    Pair plain;
    TlsStream near;
    CHECK_THROWS_AS((void)TlsStream::connect_result(near, client_context(), std::move(plain.near), ""),
                    std::invalid_argument);
    CHECK_FALSE(near.is_open());
    char byte = 0;
    CHECK(near.read_result({&byte, 1}).os_error() == EBADF);
  });
}

TEST_CASE("tls: a host is a whole name, and one of those that the certificate is for") {
  on_each_engine([] {
    CHECK(shake(server_context("named"), client_context(), "named").client.fault == TlsFault::certificate);
    for (const std::string& host : {std::string(".localhost"), std::string("localhost\0.org", 14)}) {
      Pair plain;
      TlsStream near;
      CHECK_THROWS_AS((void)TlsStream::connect_result(near, client_context(), std::move(plain.near), host),
                      std::invalid_argument);
    }
  });
}

TEST_CASE("tls: to say the end twice loses nothing of what comes") {
  on_each_engine([] {
    TlsPair pair;
    pair.far.write_all("some");
    pair.far.write_all("text");
    pair.near.shutdown_write();
    std::string text(4, ' ');
    pair.near.read_exactly(text);
    CHECK(text == "some");  // and the rest has come with it
    pair.near.shutdown_write();
    pair.near.read_exactly(text);
    CHECK(text == "text");
    CHECK(pair.near.failure().fault == TlsFault::none);
  });
}

TEST_CASE("tls: a read that ends early has taken nothing; a write that ends early closes [N-022]") {
  on_each_engine([] {
    TlsPair pair;
    char room[16];
    CHECK(pair.near.read_result(room, now() + 3ms).os_error() == ETIMEDOUT);
    CHECK_FALSE(timeout(3ms, [&] { (void)pair.near.read(room); }));
    pair.far.write_all("still here");
    std::string text(10, ' ');
    pair.near.read_exactly(text);
    CHECK(text == "still here");
    // Nobody reads: at some time nothing more goes out.
    const std::string much(1 << 16, 'x');
    std::size_t written = 0;
    IoResult result;
    while (result.ok()) result = pair.near.write_all_result(much, written, now() + 20ms);
    CHECK(result.os_error() == ETIMEDOUT);
    CHECK(written < much.size());
    CHECK_FALSE(pair.near.is_open());
    CHECK(pair.near.write_all_result("x", written).os_error() == EBADF);

    TlsPair other;
    with_nursery([&](Nursery& nursery) {
      auto task = nursery.spawn([&] {
        for (;;) other.near.write_all(much);
      });
      until_parked(task);
      task.cancel();
      task.wait();
      CHECK(task.status() == TaskStatus::cancelled);
      // Closed, or, if it was asked to stop between two writes, whole.
      if (other.near.is_open()) {
        nursery.start([&] { other.near.shutdown_write(); });
        CHECK(read_all(other.far).size() % much.size() == 0);
      }
      // Asked to stop before it began: nothing was begun, the stream is whole.
      TlsPair third;
      auto late = nursery.spawn([&] {
        cancel_scope();
        return third.near.write_all_result("x", written).os_error();
      });
      late.wait();
      CHECK(third.near.is_open());
    });
    // close() ends who waits.
    with_nursery([&](Nursery& nursery) {
      TlsPair last;
      auto waits = nursery.spawn([&] { return last.near.read_result(room).os_error(); });
      until_parked(waits);
      last.near.close();
      CHECK(waits.join() == EBADF);
    });
  });
}

TEST_CASE("tls: two hundred connections at once [N-055]") {
  for (const IoEngine engine : engines()) {
    Runtime runtime(with_engine(engine, 2));
    runtime.run([] {
      const TlsContext server = server_context();
      const TlsContext client = client_context();
      TcpListener listener = TcpListener::bind(Address::loopback());
      const Address where = listener.local();
      std::atomic<int> good{0};
      with_nursery([&](Nursery& nursery) {
        nursery.start([&] {
          with_nursery([&](Nursery& clients) {
            for (int i = 0; i < 200; ++i)
              clients.start([&, plain = listener.accept()]() mutable {
                TlsStream stream = TlsStream::accept(server, std::move(plain));
                char room[256];
                while (const std::size_t n = stream.read(room)) stream.write_all({room, n});
                stream.shutdown_write();
              });
          });
        });
        for (int i = 0; i < 200; ++i)
          nursery.start([&, i] {
            TlsStream stream = TlsStream::connect(client, TcpStream::connect(where), "localhost");
            const std::string text = "client " + std::to_string(i);
            std::string back(text.size(), ' ');
            for (int round = 0; round < 5; ++round) {
              stream.write_all(text);
              stream.read_exactly(back);
              if (back != text) return;
            }
            stream.shutdown();
            ++good;
          });
      });
      CHECK(good == 200);
    });
  }
}

TEST_CASE("tls: what one fiber's call leaves in the error queue is not seen by another's [TLS-1]") {
  for (const IoEngine engine : engines()) {
    Runtime runtime(with_engine(engine, 1));
    runtime.run([] {
      TlsPair good;
      with_nursery([&](Nursery& nursery) {
        // One after another on one thread: handshakes that fail, and reads that go well.
        auto fails = nursery.spawn([&] {
          for (int i = 0; i < 10; ++i) {
            CHECK(shake(server_context("self"), client_context(), "localhost").client.fault == TlsFault::certificate);
            CHECK(ERR_peek_error() == 0);
          }
        });
        char byte = 0;
        while (fails.status() != TaskStatus::done) {
          good.far.write_all("x");
          CHECK(good.near.read({&byte, 1}) == 1);
          yield_now();
        }
      });
      // Somebody else's rubbish on this thread: a read that has to wait asks OpenSSL what is wrong.
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          char byte = 0;
          ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
          return good.near.read_result({&byte, 1});
        });
        until_parked(reader);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
        good.far.write_all("x");
        CHECK(reader.join().value() == 1);
      });
      ERR_clear_error();
    });
  }
}

TEST_CASE("tls: as a wire it reads and writes what TLS carries") {
  run([] {
    TlsPair pair;
    TlsWire near(std::move(pair.near));
    TlsWire far(std::move(pair.far));
    Wire& wire = near;
    const Bytes pieces[] = {"head ", "", "body"};
    std::size_t written = 0;
    CHECK(wire.write_all(pieces, written, never).ok());
    CHECK(written == 9);
    CHECK(wire.shutdown_write(never).ok());
    std::string all;
    char room[32];
    IoResult got;
    while ((got = far.read(room, never)).count() > 0) all.append(room, got.count());
    CHECK(got == IoResult());
    CHECK(all == "head body");
    CHECK(wire.peer().port() != 0);
    CHECK(wire.close().ok());
    CHECK(wire.close().os_error() == EBADF);
    CHECK(wire.peer() == Address());
  });
}

TEST_CASE("tls: HTTP over it, a server's connection as the carrier, a client that makes its own [N-055]") {
  on_each_engine([] {
    const TlsContext server_side = server_context("good", {"http/1.1"});
    const TlsContext client_side = client_context({"http/1.1"});
    HttpService service({}, [](HttpRequest& request, HttpResponse& response) {
      response.send("you said " + request.body() + " to " + std::string(request.path()));
    });
    Server server(TcpListener::bind(Address::loopback()), {}, [&](Connection& connection) {
      TlsWire wire(TlsStream::accept(server_side, connection, now() + 10s));
      service.serve(wire, connection);
      (void)wire.shutdown_write(now() + 1s);
    });
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { server.run(); });
      HttpClient client({.connect = [&](const HttpOrigin& to, Deadline deadline) -> std::unique_ptr<Wire> {
        CHECK(to.scheme == "https");
        return std::make_unique<TlsWire>(TlsStream::connect(
            client_side, TcpStream::connect(Address::loopback(to.port), deadline), to.host, deadline));
      }});
      const std::string url = "https://localhost:" + std::to_string(server.local().port()) + "/there";
      for (int i = 0; i < 3; ++i) {
        const HttpReply reply = client.post(url, "text/plain", "hello " + std::to_string(i));
        CHECK(reply.status == 200);
        CHECK(reply.body == "you said hello " + std::to_string(i) + " to /there");
      }
      CHECK(client.counts().connections == 1);  // kept
      client.forget();
      server.stop(1s);
    });
    CHECK(server.counts().accepted == 1);
    CHECK(server.counts().failed == 0);
  });
}

TEST_CASE("tls: openssl s_client talks to a server, and refuses a bad one [N-055]") {
  if (detail::on_valgrind()) return;  // no pidfd_open
  run([] {
    const auto ask = [](const std::string& certificate) {
      const TlsContext context = server_context(certificate, {"weft"});
      TcpListener listener = TcpListener::bind(Address::loopback());
      const std::string where = "127.0.0.1:" + std::to_string(listener.local().port());
      Process client =
          Process::start("openssl",
                         {"s_client", "-connect", where, "-servername", "localhost", "-CAfile", certificates().root(),
                          "-verify_return_error", "-alpn", "weft", "-ign_eof"},
                         {.in = ProcessStream::pipe, .out = ProcessStream::pipe, .err = ProcessStream::null});
      std::string said;
      TlsStream stream;
      with_nursery([&](Nursery& nursery) {
        nursery.start([&] {
          char room[4096];
          while (const std::size_t n = client.out().read(room)) said.append(room, n);
        });
        if (TlsStream::accept_result(stream, context, listener.accept(), now() + 10s).ok()) {
          (void)client.in().write_result("hello\n");
          char room[16];
          const IoResult got = stream.read_result(room, now() + 10s);
          std::size_t written = 0;
          if (got.ok()) (void)stream.write_all_result("you said " + std::string(room, got.count()), written);
          (void)stream.shutdown_write_result();
        }
        stream.close_result().ok();
      });
      return std::pair(client.wait_for(10s), said);
    };
    const auto [status, said] = ask("good");
    CHECK(status.code == 0);
    CHECK(said.find("you said hello") != std::string::npos);
    CHECK(said.find("ALPN protocol: weft") != std::string::npos);
    CHECK(said.find("Verify return code: 0 (ok)") != std::string::npos);
    CHECK(ask("expired").first.code != 0);
  });
}

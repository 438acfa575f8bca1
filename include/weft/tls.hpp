// SPDX-License-Identifier: MIT
// What: TLS over a TCP stream or any other wire, by OpenSSL 3: the library weft::tls, apart from the rest, which needs
// no OpenSSL.
//
//   const weft::TlsContext context = weft::TlsContext::client();           // the system's roots, host names checked
//   weft::TlsStream stream = weft::TlsStream::connect(context, weft::TcpStream::connect(where), "example.org");
//   stream.write_all("GET / HTTP/1.0\r\n\r\n");
//
// Verbs as Stream's. What TLS itself finds wrong is a TlsError, or its error number from the x_result forms, and
// failure() says it in words. The end that the other side has announced (close_notify) reads as 0; one that it has not
// is TlsFault::truncated.
//
// Invariants
//   [TLS-1] No call into OpenSSL spans a suspension, and what a call leaves in the thread's error queue is taken out of
//           it before the next one: a fiber may go on on another thread, and another fiber on this one.
//   [TLS-2] A stream is whole or closed. A handshake or a write that ends early (a deadline, a cancel, an error) closes
//           it: the other side has part of a record, and nobody knows how much of the text. A read that ends early has
//           taken nothing: the stream stays as it was. Where the other side takes no more (EPIPE, ECONNRESET) the
//           writing alone is over: what it has said before can still be read.
//   [TLS-3] The lock of a session is held for calls into OpenSSL only, never across a wait.
// Threads: one reader and one writer at the same time (more take turns); close any, which ends both with EBADF. A
// context serves any number of streams at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/address.hpp"
#include "weft/bytes.hpp"
#include "weft/stream.hpp"
#include "weft/tcp.hpp"
#include "weft/wire.hpp"

namespace weft::inline v0 {

namespace detail {
class TlsContextCore;
class TlsSession;
}  // namespace detail

enum class TlsFault : std::uint8_t {
  none,
  not_tls,      // what came is no TLS (EPROTO)
  protocol,     // TLS, but not as it has to be (EPROTO)
  certificate,  // the other side's is not to be trusted, or not for this host (EKEYREJECTED)
  refused,      // the other side did not want to go on, and said why (ECONNABORTED)
  truncated,    // the connection ended without a close_notify (ENODATA)
};
const char* to_string(TlsFault fault);

struct TlsFailure {
  TlsFault fault = TlsFault::none;
  int os_error = 0;
  std::string what;
};

class TlsError : public std::system_error {
 public:
  explicit TlsError(const TlsFailure& failure)
      : std::system_error(failure.os_error, std::system_category(), failure.what), fault_(failure.fault) {}
  TlsFault fault() const noexcept { return fault_; }

 private:
  TlsFault fault_;
};

enum class TlsVersion : std::uint8_t { tls1_2, tls1_3 };

struct TlsServerOptions {
  std::string certificate_file = {};   // PEM: the certificate, then those that lead to the root
  std::string key_file = {};           // PEM
  std::vector<std::string> alpn = {};  // protocols, the best first; a client that offers only others is refused
  TlsVersion minimum = TlsVersion::tls1_2;
};

struct TlsClientOptions {
  std::string ca_file = {};  // PEM; empty: the system's roots
  bool verify = true;        // false: any certificate for any host will do. For tests
  std::vector<std::string> alpn = {};
  TlsVersion minimum = TlsVersion::tls1_2;
};

// What many connections have in common. Copies are the same one.
class TlsContext {
 public:
  // Throw std::runtime_error that names the file and what OpenSSL says of it. They read files.
  static TlsContext server(const TlsServerOptions& options);
  static TlsContext client(const TlsClientOptions& options = {});

  const std::shared_ptr<const detail::TlsContextCore>& core() const { return core_; }

 private:
  explicit TlsContext(std::shared_ptr<const detail::TlsContextCore> core) : core_(std::move(core)) {}
  std::shared_ptr<const detail::TlsContextCore> core_;
};

class TlsStream {
 public:
  TlsStream();
  TlsStream(TlsStream&& from) noexcept;
  TlsStream& operator=(TlsStream&& from) noexcept;
  ~TlsStream();  // closes, without a word: the other side reads that it was truncated

  // With the handshake. `host`: a name or an IP address; told to the other side, and its certificate has to be for it.
  static TlsStream connect(const TlsContext& context, TcpStream stream, const std::string& host,
                           Deadline deadline = never);
  static TlsStream accept(const TlsContext& context, TcpStream stream, Deadline deadline = never);
  // Over something else that carries bytes: a Server's connection, for instance. It must outlive the stream.
  static TlsStream connect(const TlsContext& context, Wire& carrier, const std::string& host,
                           Deadline deadline = never);
  static TlsStream accept(const TlsContext& context, Wire& carrier, Deadline deadline = never);
  // `into` is closed if they fail, and into.failure() says why.
  static IoResult connect_result(TlsStream& into, const TlsContext& context, TcpStream stream, const std::string& host,
                                 Deadline deadline = never);
  static IoResult accept_result(TlsStream& into, const TlsContext& context, TcpStream stream,
                                Deadline deadline = never);
  static IoResult connect_result(TlsStream& into, const TlsContext& context, Wire& carrier, const std::string& host,
                                 Deadline deadline = never);
  static IoResult accept_result(TlsStream& into, const TlsContext& context, Wire& carrier, Deadline deadline = never);

  bool is_open() const;
  // At once: see the destructor. EBADF: it was closed before.
  void close();
  IoResult close_result() noexcept;

  // At least one byte, unless there is no room; 0: the end, said by the other side.
  std::size_t read(Room room) { return read_until(room, never); }
  std::size_t read_for(Room room, std::chrono::nanoseconds span);
  std::size_t read_until(Room room, Deadline deadline);
  IoResult read_result(Room room, Deadline deadline = never);
  void read_exactly(Room room, Deadline deadline = never);

  // All of it.
  void write_all(Bytes bytes) { write_all_until(bytes, never); }
  void write_all_for(Bytes bytes, std::chrono::nanoseconds span);
  void write_all_until(Bytes bytes, Deadline deadline);
  IoResult write_all_result(Bytes bytes, std::size_t& written, Deadline deadline = never);
  IoResult writev_all_result(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline = never);

  // Sends close_notify: no more will come from here; reading goes on.
  void shutdown_write(Deadline deadline = never);
  IoResult shutdown_write_result(Deadline deadline = never);
  // Sends it, waits for the other side's, throwing away what still comes, and closes: nothing was lost either way.
  void shutdown(Deadline deadline = never);
  IoResult shutdown_result(Deadline deadline = never);

  // What was agreed upon.
  std::string alpn() const;     // empty: nothing
  std::string version() const;  // "TLSv1.3"
  std::string cipher() const;
  Address peer() const;  // empty: it has none, or is gone

  TlsFailure failure() const;  // the first one; fault none: nothing was wrong with TLS itself

 private:
  explicit TlsStream(std::unique_ptr<detail::TlsSession> session);
  detail::TlsSession& session() const;

  std::unique_ptr<detail::TlsSession> session_;
};

class TlsWire final : public Wire {
 public:
  explicit TlsWire(TlsStream stream) : stream_(std::move(stream)) {}

  IoResult read(Room room, Deadline deadline) override { return stream_.read_result(room, deadline); }
  IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) override {
    return stream_.writev_all_result(pieces, written, deadline);
  }
  IoResult shutdown_write(Deadline deadline) override { return stream_.shutdown_write_result(deadline); }
  IoResult close() noexcept override { return stream_.close_result(); }
  Address peer() const override { return stream_.peer(); }

  TlsStream& stream() { return stream_; }

 private:
  TlsStream stream_;
};

}  // namespace weft::inline v0

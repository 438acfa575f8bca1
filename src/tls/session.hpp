// SPDX-License-Identifier: MIT
// What: one connection: OpenSSL between two buffers of memory, and a wire that carries what is in them. OpenSSL is
// called with the lock held and never waits; the wire is waited for without it.
//
//   write   [write turn] text -> SSL -> out_ -> outbox_ -> wire
//   read    [read turn]  wire -> inbox_ -> in_ -> SSL -> text
//
// Invariants
//   [TLS-4] What is in out_ is on its way: whoever adds to it sends it, or found the write turn taken; who gives up the
//           turn looks at out_ once more. A reader, which may have to answer (a new key, an alert), waits neither for a
//           writer nor for the wire: two sides that wait to be read would wait for ever. What the wire does not take at
//           once goes before the next text, or with the next read. It has a bound.
//   [TLS-5] A writer that needs input reads it itself, if the read turn is free. If not, who has the turn says when it
//           has brought some, and when it has left.
// Rejected: BIO_s_socket on a non-blocking descriptor: it would reach the kernel around the engine and whoever
// intercepts. One lock held across the wait: a reader that waits for the other side would stop the writer it waits for.
// Threads: as TlsStream's.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tls/context.hpp"
#include "weft/detail/seam.hpp"
#include "weft/mutex.hpp"
#include "weft/sync_event.hpp"
#include "weft/tls.hpp"

namespace weft::inline v0::detail {

class TlsSession {
 public:
  TlsSession(std::shared_ptr<const TlsContextCore> context, std::unique_ptr<Wire> wire);
  TlsSession(std::shared_ptr<const TlsContextCore> context, Wire& wire);

  // None of these throws Cancelled: it is ECANCELED here.
  IoResult handshake(const std::string& host, Deadline deadline);  // throws std::invalid_argument about the host
  IoResult read(Room room, Deadline deadline);
  IoResult write(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline);
  IoResult shutdown_write(Deadline deadline);
  IoResult shutdown(Deadline deadline);
  IoResult close() noexcept;

  bool is_open() const { return open_.load(std::memory_order_acquire); }  // acquire: with close()
  Address peer() const { return wire_.peer(); }
  TlsFailure failure() const;
  std::string alpn() const;
  std::string version() const;
  std::string cipher() const;

 private:
  TlsSession(std::shared_ptr<const TlsContextCore> context, std::unique_ptr<Wire> owned, Wire* wire);

  enum class Step : std::uint8_t { done, ended, wants_input, failed };
  // call(ssl) answers as OpenSSL's functions do: 1 is success.
  template <class Call>
  Step step(Call&& call);
  IoResult fail(TlsFailure failure);
  IoResult failed() const;
  IoResult why_closed() const;

  void name_host(const std::string& host);
  IoResult shake_hands(Deadline deadline);
  IoResult read_in_turn(Room room, Deadline deadline);
  IoResult write_in_turn(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline);
  // The rest of a message after the handshake (a ticket, a new key) whose first records have come: until then OpenSSL
  // writes nothing. In the write turn.
  IoResult finish_message(Deadline deadline);
  // From the wire into in_; 0: the connection has ended.
  IoResult fill(Deadline deadline);
  // All that is in out_ to the wire. In the write turn.
  IoResult pump(Deadline deadline);
  // As much as the wire takes at once, for who has not got the turn, and for who has just given it up [TLS-4].
  void pump_if_free();
  std::size_t output() const;
  // In the write turn.
  void end_writing(IoResult why);

  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  const std::shared_ptr<const TlsContextCore> context_;
  const std::unique_ptr<Wire> owned_;  // null: the wire is somebody else's
  Wire& wire_;
  seam::Atomic<bool> open_{true};  // written by the first to close

  mutable seam::Mutex lock_;  // [TLS-3]
  // Guarded by lock_.
  std::unique_ptr<SSL, Free> ssl_;
  BIO* in_ = nullptr;  // both are ssl_'s
  BIO* out_ = nullptr;
  TlsFailure failure_;
  bool shaken_ = false;

  Mutex read_turn_;
  std::unique_ptr<char[]> inbox_;  // in the read turn

  Mutex write_turn_;
  // In the write turn.
  std::vector<char> outbox_;
  std::size_t sent_ = 0;  // of outbox_
  int write_error_ = 0;
  SyncEvent input_;  // [TLS-5]
  // Anybody reads it.
  seam::Atomic<bool> rest_{false};  // outbox_ is not all sent
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: TCP streams and listeners.
//
//   weft::TcpListener listener = weft::TcpListener::bind(weft::Address::any(7000));
//   weft::with_nursery([&](weft::Nursery& nursery) {
//     for (;;) nursery.start([client = listener.accept()]() mutable { serve(client); });
//   });
//
// Threads: any; as Stream.
#pragma once

#include "weft/address.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0 {

class TcpStream : public Stream {
 public:
  TcpStream() = default;
  static TcpStream connect(const Address& to, Deadline deadline = never);
  static TcpStream connect_for(const Address& to, std::chrono::nanoseconds span);
  static IoResult connect_result(TcpStream& into, const Address& to, Deadline deadline = never);

  Address local() const;
  Address peer() const;
  // Half close: the other side reads the end, and may go on writing.
  void shutdown_write();
  void shutdown_read();
  void no_delay(bool on = true);
  // Closing throws away what is under way: the other side sees a reset.
  void reset_on_close();

 private:
  friend class TcpListener;
  explicit TcpStream(detail::Descriptor descriptor) : Stream(std::move(descriptor), true) {}
};

class TcpListener {
 public:
  struct Options {
    int backlog = 1024;
    bool reuse_port = false;  // several listeners share the port, the kernel spreads connections
  };

  TcpListener() = default;
  static TcpListener bind(const Address& at, const Options& options);
  static TcpListener bind(const Address& at) { return bind(at, Options{}); }

  TcpStream accept() { return accept_until(never); }
  TcpStream accept_for(std::chrono::nanoseconds span);
  TcpStream accept_until(Deadline deadline);
  IoResult accept_result(TcpStream& into, Deadline deadline = never);

  Address local() const;
  bool is_open() const { return descriptor_.is_open(); }
  int fd() const { return descriptor_.fd(); }
  void close();  // those who wait in accept get EBADF

 private:
  friend class Server;
  explicit TcpListener(detail::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  detail::Descriptor descriptor_;
};

}  // namespace weft::inline v0

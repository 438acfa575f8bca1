// SPDX-License-Identifier: MIT
// What: Unix stream sockets, by a path or an abstract name (Address::unix_path).
// Threads: any; as Stream.
#pragma once

#include <utility>

#include "weft/address.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0 {

class UnixStream : public Stream {
 public:
  UnixStream() = default;
  static UnixStream connect(const Address& to, Deadline deadline = never);
  static IoResult connect_result(UnixStream& into, const Address& to, Deadline deadline = never);
  static std::pair<UnixStream, UnixStream> make_pair();

  Address local() const;
  void shutdown_write();

 private:
  friend class UnixListener;
  explicit UnixStream(detail::Descriptor descriptor) : Stream(std::move(descriptor), true) {}
};

class UnixListener {
 public:
  UnixListener() = default;
  // A path must not exist yet; it stays after close.
  static UnixListener bind(const Address& at, int backlog = 1024);

  UnixStream accept() { return accept_until(never); }
  UnixStream accept_for(std::chrono::nanoseconds span);
  UnixStream accept_until(Deadline deadline);
  IoResult accept_result(UnixStream& into, Deadline deadline = never);

  Address local() const;
  bool is_open() const { return descriptor_.is_open(); }
  void close();

 private:
  friend class Server;
  detail::Descriptor descriptor_;
};

}  // namespace weft::inline v0

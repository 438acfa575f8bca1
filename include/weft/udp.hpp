// SPDX-License-Identifier: MIT
// What: UDP: datagrams, each with its sender.
// Threads: any.
#pragma once

#include "weft/address.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0 {

struct Datagram {
  std::size_t size = 0;  // how much of it found room
  Address from;
};

class UdpSocket {
 public:
  UdpSocket() = default;
  static UdpSocket bind(const Address& at);
  // Sends to, and receives from, this one only; an unreachable one is told by ECONNREFUSED.
  void connect(const Address& to);

  std::size_t send_to(Bytes bytes, const Address& to, Deadline deadline = never);
  Datagram receive(Room room) { return receive_until(room, never); }
  Datagram receive_for(Room room, std::chrono::nanoseconds span);
  Datagram receive_until(Room room, Deadline deadline);
  IoResult receive_result(Room room, Address& from, Deadline deadline = never);
  // Of a connected one.
  std::size_t send(Bytes bytes, Deadline deadline = never);

  Address local() const;
  bool is_open() const { return descriptor_.is_open(); }
  void close();

 private:
  IoResult receive_request(Room room, Address& from, Deadline deadline, bool quiet);
  detail::Descriptor descriptor_;
};

}  // namespace weft::inline v0

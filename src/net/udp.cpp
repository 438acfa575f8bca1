// SPDX-License-Identifier: MIT
#include "weft/udp.hpp"

#include <sys/socket.h>

#include <string>

#include "net/socket.hpp"

namespace weft::inline v0 {

using namespace detail;

UdpSocket UdpSocket::bind(const Address& at) {
  UdpSocket socket;
  IoResult result = make_socket(socket.descriptor_, at.family(), SOCK_DGRAM, fd_plain);
  if (result.ok()) result = bind_socket(socket.descriptor_, at);
  if (!result.ok()) throw std::system_error(result.error(), "bind " + at.to_string());
  return socket;
}

void UdpSocket::connect(const Address& to) {
  (void)checked(connect_socket(descriptor_, to, never, false), "connect");
}

std::size_t UdpSocket::send_to(Bytes bytes, const Address& to, Deadline deadline) {
  Address copy = to;
  IoRequest request = descriptor_.request(IoOp::send);
  request.data = const_cast<void*>(bytes.data);
  request.size = bytes.size;
  request.address = copy.data();
  request.address_size = &copy.size;
  request.deadline = deadline;
  return checked(perform_io(request), "send_to");
}

std::size_t UdpSocket::send(Bytes bytes, Deadline deadline) {
  IoRequest request = descriptor_.request(IoOp::send);
  request.data = const_cast<void*>(bytes.data);
  request.size = bytes.size;
  request.deadline = deadline;
  return checked(perform_io(request), "send");
}

IoResult UdpSocket::receive_request(Room room, Address& from, Deadline deadline, bool quiet) {
  from.size = Address::room;
  IoRequest request = descriptor_.request(IoOp::recv);
  request.data = room.data;
  request.size = room.size;
  request.address = from.data();
  request.address_size = &from.size;
  request.deadline = deadline;
  request.quiet = quiet;
  return perform_io(request);
}

Datagram UdpSocket::receive_for(Room room, std::chrono::nanoseconds span) {
  return receive_until(room, deadline_for(span));
}

Datagram UdpSocket::receive_until(Room room, Deadline deadline) {
  Datagram got;
  got.size = checked(receive_request(room, got.from, deadline, false), "receive");
  return got;
}

IoResult UdpSocket::receive_result(Room room, Address& from, Deadline deadline) {
  return receive_request(room, from, deadline, true);
}

Address UdpSocket::local() const {
  return local_of(descriptor_);
}

void UdpSocket::close() {
  (void)checked(descriptor_.close(), "close");
}

}  // namespace weft::inline v0

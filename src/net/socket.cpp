// SPDX-License-Identifier: MIT
#include "net/socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include "base/sys.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {
namespace {

Address name_of(const Descriptor& socket, bool other_side, const char* what) {
  Address address;
  address.size = Address::room;
  IoRequest request = socket.request(IoOp::name);
  request.flags = other_side ? 1 : 0;
  request.address = address.data();
  request.address_size = &address.size;
  (void)checked(perform_io(request), what);
  return address;
}

IoResult with_address(const Descriptor& socket, IoOp op, const Address& address, Deadline deadline, bool quiet) {
  Address copy = address;
  IoRequest request = socket.request(op);
  request.address = copy.data();
  request.address_size = &copy.size;
  request.deadline = deadline;
  request.quiet = quiet;
  return perform_io(request);
}

}  // namespace

IoResult make_socket(Descriptor& into, int family, int type, FdKind kind) {
  IoRequest request;
  request.op = IoOp::socket;
  request.flags = static_cast<std::uint32_t>(family);
  request.mode = static_cast<std::uint32_t>(type);
  const IoResult made = perform_io(request);
  if (!made.ok()) return made;
  into = Descriptor(static_cast<int>(made.value()), kind);
  return IoResult();
}

IoResult bind_socket(const Descriptor& socket, const Address& at) {
  return with_address(socket, IoOp::bind, at, never, true);
}

IoResult connect_socket(const Descriptor& socket, const Address& to, Deadline deadline, bool quiet) {
  const IoResult result = with_address(socket, IoOp::connect, to, deadline, quiet);
  // From here on recv and send say by themselves whether they may wait, and a ring waits only for blocking sockets.
  if (result.ok()) (void)sys::fcntl(socket.fd(), F_SETFL, O_RDWR);
  return result;
}

IoResult listen_on(const Descriptor& socket, int backlog) {
  IoRequest request = socket.request(IoOp::listen);
  request.flags = static_cast<std::uint32_t>(backlog);
  return perform_io(request);
}

IoResult accept_from(const Descriptor& listener, Descriptor& into, FdKind kind, Deadline deadline, bool quiet) {
  IoRequest request = listener.request(IoOp::accept);
  request.deadline = deadline;
  request.quiet = quiet;
  const IoResult got = perform_io(request);
  if (!got.ok()) return got;
  into = Descriptor(static_cast<int>(got.value()), kind);
  return IoResult();
}

IoResult shut_down(const Descriptor& socket, int how) {
  IoRequest request = socket.request(IoOp::shutdown);
  request.flags = static_cast<std::uint32_t>(how);
  return perform_io(request);
}

IoResult set_option(const Descriptor& socket, int level, int option, const void* value, std::uint32_t size) {
  IoRequest request = socket.request(IoOp::option);
  request.flags = static_cast<std::uint32_t>(level);
  request.mode = static_cast<std::uint32_t>(option);
  request.data = const_cast<void*>(value);
  request.size = size;
  return perform_io(request);
}

Address local_of(const Descriptor& socket) {
  return name_of(socket, false, "local");
}

Address peer_of(const Descriptor& socket) {
  return name_of(socket, true, "peer");
}

}  // namespace weft::inline v0::detail

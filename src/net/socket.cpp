// SPDX-License-Identifier: MIT
#include "net/socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/sys.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {
namespace {

Address name_of(const Descriptor& socket, long call, const char* what) {
  Address address;
  socklen_t size = Address::room;
  const long result =
      sys::invoke(call, socket.fd(), static_cast<long>(reinterpret_cast<std::uintptr_t>(address.data())),
                  static_cast<long>(reinterpret_cast<std::uintptr_t>(&size)));
  if (sys::is_error(result)) throw_os_error(sys::error_of(result), what);
  address.size = size;
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

IoResult make_socket(Descriptor& into, int family, int type, bool stream) {
  IoRequest request;
  request.op = IoOp::socket;
  request.flags = static_cast<std::uint32_t>(family);
  request.mode = static_cast<std::uint32_t>(type);
  const IoResult made = perform_io(request);
  if (!made.ok()) return made;
  into = Descriptor(static_cast<int>(made.value()), stream);
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

IoResult accept_from(const Descriptor& listener, Descriptor& into, Deadline deadline, bool quiet) {
  IoRequest request = listener.request(IoOp::accept);
  request.deadline = deadline;
  request.quiet = quiet;
  const IoResult got = perform_io(request);
  if (!got.ok()) return got;
  into = Descriptor(static_cast<int>(got.value()), true);
  return IoResult();
}

IoResult shut_down(const Descriptor& socket, int how) {
  IoRequest request = socket.request(IoOp::shutdown);
  request.flags = static_cast<std::uint32_t>(how);
  return perform_io(request);
}

IoResult set_option(const Descriptor& socket, int level, int option, const void* value, std::uint32_t size) {
  return IoResult(sys::invoke(SYS_setsockopt, socket.fd(), level, option,
                              static_cast<long>(reinterpret_cast<std::uintptr_t>(value)), long{size}));
}

Address local_of(const Descriptor& socket) {
  return name_of(socket, SYS_getsockname, "local");
}

Address peer_of(const Descriptor& socket) {
  return name_of(socket, SYS_getpeername, "peer");
}

Deadline deadline_for(std::chrono::nanoseconds span) {
  const std::int64_t when = deadline_after(span);
  return when == seam::no_deadline ? never : Deadline(std::chrono::nanoseconds(when));
}

}  // namespace weft::inline v0::detail

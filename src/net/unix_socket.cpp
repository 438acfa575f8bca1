// SPDX-License-Identifier: MIT
#include "weft/unix_socket.hpp"

#include <sys/socket.h>

#include <string>

#include "net/socket.hpp"

namespace weft::inline v0 {

using namespace detail;

UnixStream UnixStream::connect(const Address& to, Deadline deadline) {
  Descriptor socket;
  IoResult result = make_socket(socket, to.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_stream);
  if (result.ok()) result = connect_socket(socket, to, deadline, false);
  if (!result.ok()) throw std::system_error(result.error(), "connect " + to.to_string());
  return UnixStream(std::move(socket));
}

IoResult UnixStream::connect_result(UnixStream& into, const Address& to, Deadline deadline) {
  Descriptor socket;
  IoResult result = make_socket(socket, to.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_stream);
  if (result.ok()) result = connect_socket(socket, to, deadline, true);
  if (result.ok()) into = UnixStream(std::move(socket));
  return result;
}

std::pair<UnixStream, UnixStream> UnixStream::make_pair() {
  int ends[2] = {-1, -1};
  IoRequest request;
  request.op = IoOp::pair;
  request.flags = AF_UNIX;
  request.data = ends;
  (void)checked(perform_io(request), "make_pair");
  UnixStream first(Descriptor(ends[0], fd_stream));
  return {std::move(first), UnixStream(Descriptor(ends[1], fd_stream))};
}

Address UnixStream::local() const {
  return local_of(descriptor());
}

void UnixStream::shutdown_write() {
  (void)checked(shut_down(descriptor(), SHUT_WR), "shutdown_write");
}

UnixListener UnixListener::bind(const Address& at, int backlog) {
  UnixListener listener;
  IoResult result = make_socket(listener.descriptor_, at.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_plain);
  if (result.ok()) result = bind_socket(listener.descriptor_, at);
  if (result.ok()) result = listen_on(listener.descriptor_, backlog);
  if (!result.ok()) throw std::system_error(result.error(), "bind " + at.to_string());
  return listener;
}

UnixStream UnixListener::accept_for(std::chrono::nanoseconds span) {
  return accept_until(deadline_for(span));
}

UnixStream UnixListener::accept_until(Deadline deadline) {
  Descriptor socket;
  (void)checked(accept_from(descriptor_, socket, fd_stream, deadline, false), "accept");
  return UnixStream(std::move(socket));
}

IoResult UnixListener::accept_result(UnixStream& into, Deadline deadline) {
  Descriptor socket;
  const IoResult result = accept_from(descriptor_, socket, fd_stream, deadline, true);
  if (result.ok()) into = UnixStream(std::move(socket));
  return result;
}

Address UnixListener::local() const {
  return local_of(descriptor_);
}

void UnixListener::close() {
  (void)checked(descriptor_.close(), "close");
}

}  // namespace weft::inline v0

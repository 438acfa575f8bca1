// SPDX-License-Identifier: MIT
#include "weft/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/socket.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

[[noreturn]] void fail(IoResult result, const char* what, const Address& where) {
  throw std::system_error(result.error(), std::string(what) + " " + where.to_string());
}

}  // namespace

TcpStream TcpStream::connect(const Address& to, Deadline deadline) {
  Descriptor socket;
  IoResult result = make_socket(socket, to.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_tcp);
  if (result.ok()) result = connect_socket(socket, to, deadline, false);
  if (!result.ok()) fail(result, "connect", to);
  return TcpStream(std::move(socket));
}

TcpStream TcpStream::connect_for(const Address& to, std::chrono::nanoseconds span) {
  return connect(to, deadline_for(span));
}

IoResult TcpStream::connect_result(TcpStream& into, const Address& to, Deadline deadline) {
  Descriptor socket;
  IoResult result = make_socket(socket, to.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_tcp);
  if (result.ok()) result = connect_socket(socket, to, deadline, true);
  if (result.ok()) into = TcpStream(std::move(socket));
  return result;
}

Address TcpStream::local() const {
  return local_of(descriptor());
}

Address TcpStream::peer() const {
  return peer_of(descriptor());
}

void TcpStream::shutdown_write() {
  (void)checked(shut_down(descriptor(), SHUT_WR), "shutdown_write");
}

void TcpStream::shutdown_read() {
  (void)checked(shut_down(descriptor(), SHUT_RD), "shutdown_read");
}

void TcpStream::no_delay(bool on) {
  const int value = on ? 1 : 0;
  (void)checked(set_option(descriptor(), IPPROTO_TCP, TCP_NODELAY, &value, sizeof value), "no_delay");
}

void TcpStream::reset_on_close() {
  const linger value{1, 0};
  (void)checked(set_option(descriptor(), SOL_SOCKET, SO_LINGER, &value, sizeof value), "reset_on_close");
}

TcpListener TcpListener::bind(const Address& at, const Options& options) {
  TcpListener listener;
  const int on = 1;
  IoResult result = make_socket(listener.descriptor_, at.family(), SOCK_STREAM | SOCK_NONBLOCK, fd_plain);
  if (result.ok()) result = set_option(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (result.ok() && options.reuse_port)
    result = set_option(listener.descriptor_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (result.ok()) result = bind_socket(listener.descriptor_, at);
  if (result.ok()) result = listen_on(listener.descriptor_, options.backlog);
  if (!result.ok()) fail(result, "bind", at);
  return listener;
}

TcpStream TcpListener::accept_for(std::chrono::nanoseconds span) {
  return accept_until(deadline_for(span));
}

TcpStream TcpListener::accept_until(Deadline deadline) {
  Descriptor socket;
  (void)checked(accept_from(descriptor_, socket, fd_tcp, deadline, false), "accept");
  return TcpStream(std::move(socket));
}

IoResult TcpListener::accept_result(TcpStream& into, Deadline deadline) {
  Descriptor socket;
  const IoResult result = accept_from(descriptor_, socket, fd_tcp, deadline, true);
  if (result.ok()) into = TcpStream(std::move(socket));
  return result;
}

Address TcpListener::local() const {
  return local_of(descriptor_);
}

void TcpListener::close() {
  (void)checked(descriptor_.close(), "close");
}

}  // namespace weft::inline v0

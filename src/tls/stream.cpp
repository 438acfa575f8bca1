// SPDX-License-Identifier: MIT
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "io/deadline.hpp"
#include "sched/park.hpp"
#include "tls/session.hpp"
#include "weft/detail/descriptor.hpp"
#include "weft/tls.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

// The count; or throws Cancelled, TlsError, std::system_error.
std::size_t checked(IoResult result, const TlsSession& session, const char* what) {
  if (result.ok()) return result.count();
  if (result.os_error() == ECANCELED) raise_if_cancelled(*task_here());
  const TlsFailure failure = session.failure();
  if (failure.fault != TlsFault::none && failure.os_error == result.os_error()) throw TlsError(failure);
  throw_os_error(result.os_error(), what);
}

void check_kind(const TlsContext& context, bool server) {
  if (context.core()->is_server() != server)
    throw std::invalid_argument(server ? "TlsStream::accept: the context is a client's"
                                       : "TlsStream::connect: the context is a server's");
}

std::unique_ptr<TlsSession> begin(const TlsContext& context, TcpStream stream, bool server) {
  check_kind(context, server);
  return std::make_unique<TlsSession>(context.core(), std::make_unique<TcpWire>(std::move(stream)));
}

std::unique_ptr<TlsSession> begin(const TlsContext& context, Wire& carrier, bool server) {
  check_kind(context, server);
  return std::make_unique<TlsSession>(context.core(), carrier);
}

}  // namespace

TlsStream::TlsStream() = default;
TlsStream::TlsStream(TlsStream&& from) noexcept = default;
TlsStream& TlsStream::operator=(TlsStream&& from) noexcept = default;
TlsStream::~TlsStream() = default;

TlsStream::TlsStream(std::unique_ptr<TlsSession> session) : session_(std::move(session)) {}

TlsSession& TlsStream::session() const {
  if (session_ == nullptr) throw_os_error(EBADF, "TlsStream");
  return *session_;
}

TlsStream TlsStream::connect(const TlsContext& context, TcpStream stream, const std::string& host, Deadline deadline) {
  TlsStream made;
  const IoResult result = connect_result(made, context, std::move(stream), host, deadline);
  (void)checked(result, made.session(), "TLS handshake");
  return made;
}

TlsStream TlsStream::accept(const TlsContext& context, TcpStream stream, Deadline deadline) {
  TlsStream made;
  const IoResult result = accept_result(made, context, std::move(stream), deadline);
  (void)checked(result, made.session(), "TLS handshake");
  return made;
}

IoResult TlsStream::connect_result(TlsStream& into, const TlsContext& context, TcpStream stream,
                                   const std::string& host, Deadline deadline) {
  into = TlsStream(begin(context, std::move(stream), false));
  return into.session().handshake(host, deadline);
}

IoResult TlsStream::accept_result(TlsStream& into, const TlsContext& context, TcpStream stream, Deadline deadline) {
  into = TlsStream(begin(context, std::move(stream), true));
  return into.session().handshake({}, deadline);
}

TlsStream TlsStream::connect(const TlsContext& context, Wire& carrier, const std::string& host, Deadline deadline) {
  TlsStream made;
  const IoResult result = connect_result(made, context, carrier, host, deadline);
  (void)checked(result, made.session(), "TLS handshake");
  return made;
}

TlsStream TlsStream::accept(const TlsContext& context, Wire& carrier, Deadline deadline) {
  TlsStream made;
  const IoResult result = accept_result(made, context, carrier, deadline);
  (void)checked(result, made.session(), "TLS handshake");
  return made;
}

IoResult TlsStream::connect_result(TlsStream& into, const TlsContext& context, Wire& carrier, const std::string& host,
                                   Deadline deadline) {
  into = TlsStream(begin(context, carrier, false));
  return into.session().handshake(host, deadline);
}

IoResult TlsStream::accept_result(TlsStream& into, const TlsContext& context, Wire& carrier, Deadline deadline) {
  into = TlsStream(begin(context, carrier, true));
  return into.session().handshake({}, deadline);
}

bool TlsStream::is_open() const {
  return session_ != nullptr && session_->is_open();
}

void TlsStream::close() {
  (void)checked(session().close(), session(), "close");
}

IoResult TlsStream::close_result() noexcept {
  return session_ == nullptr ? IoResult::failed(EBADF) : session_->close();
}

std::size_t TlsStream::read_for(Room room, std::chrono::nanoseconds span) {
  return read_until(room, deadline_for(span));
}

std::size_t TlsStream::read_until(Room room, Deadline deadline) {
  return checked(session().read(room, deadline), session(), "TLS read");
}

IoResult TlsStream::read_result(Room room, Deadline deadline) {
  return session_ == nullptr ? IoResult::failed(EBADF) : session_->read(room, deadline);
}

void TlsStream::read_exactly(Room room, Deadline deadline) {
  for (std::size_t done = 0; done < room.size;) {
    const std::size_t n = read_until(room.from(done), deadline);
    if (n == 0) throw_os_error(ENODATA, "read_exactly");
    done += n;
  }
}

void TlsStream::write_all_for(Bytes bytes, std::chrono::nanoseconds span) {
  write_all_until(bytes, deadline_for(span));
}

void TlsStream::write_all_until(Bytes bytes, Deadline deadline) {
  std::size_t written = 0;
  (void)checked(session().write({&bytes, 1}, written, deadline), session(), "TLS write_all");
}

IoResult TlsStream::write_all_result(Bytes bytes, std::size_t& written, Deadline deadline) {
  return writev_all_result({&bytes, 1}, written, deadline);
}

IoResult TlsStream::writev_all_result(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) {
  written = 0;
  return session_ == nullptr ? IoResult::failed(EBADF) : session_->write(pieces, written, deadline);
}

void TlsStream::shutdown_write(Deadline deadline) {
  (void)checked(session().shutdown_write(deadline), session(), "TLS shutdown_write");
}

IoResult TlsStream::shutdown_write_result(Deadline deadline) {
  return session_ == nullptr ? IoResult::failed(EBADF) : session_->shutdown_write(deadline);
}

void TlsStream::shutdown(Deadline deadline) {
  (void)checked(session().shutdown(deadline), session(), "TLS shutdown");
}

IoResult TlsStream::shutdown_result(Deadline deadline) {
  return session_ == nullptr ? IoResult::failed(EBADF) : session_->shutdown(deadline);
}

std::string TlsStream::alpn() const {
  return session().alpn();
}

std::string TlsStream::version() const {
  return session().version();
}

std::string TlsStream::cipher() const {
  return session().cipher();
}

Address TlsStream::peer() const {
  return session_ == nullptr ? Address() : session_->peer();
}

TlsFailure TlsStream::failure() const {
  return session_ == nullptr ? TlsFailure{} : session_->failure();
}

}  // namespace weft::inline v0

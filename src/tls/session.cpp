// SPDX-License-Identifier: MIT
#include "tls/session.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

#include "tls/queue.hpp"
#include "weft/scope.hpp"
#include "weft/time.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t input_at_once = 16384 + 512;  // a record
constexpr std::size_t text_at_once = 65536;         // encrypted before it is sent
constexpr std::size_t most_output = 4 * text_at_once;

IoResult result_of(WaitResult turn) {
  if (turn == WaitResult::done) return IoResult();
  return IoResult::failed(turn == WaitResult::timed_out ? ETIMEDOUT : ECANCELED);
}

// Before anything is begun that could not be taken back.
IoResult may_begin(Deadline deadline) {
  if (cancel_requested()) return IoResult::failed(ECANCELED);
  if (deadline != never && now() >= deadline) return IoResult::failed(ETIMEDOUT);
  return IoResult();
}

}  // namespace

TlsSession::TlsSession(std::shared_ptr<const TlsContextCore> context, std::unique_ptr<Wire> wire)
    : TlsSession(std::move(context), std::move(wire), nullptr) {}

TlsSession::TlsSession(std::shared_ptr<const TlsContextCore> context, Wire& wire)
    : TlsSession(std::move(context), nullptr, &wire) {}

TlsSession::TlsSession(std::shared_ptr<const TlsContextCore> context, std::unique_ptr<Wire> owned, Wire* wire)
    : context_(std::move(context)),
      owned_(std::move(owned)),
      wire_(wire != nullptr ? *wire : *owned_),
      inbox_(std::make_unique<char[]>(input_at_once)) {  // zeros: memcheck does not see what io_uring writes
  clear_queue();
  ssl_.reset(SSL_new(context_->get()));
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) {
    clear_queue();
    BIO_free(in_);
    BIO_free(out_);
    throw std::bad_alloc();
  }
  SSL_set_bio(ssl_.get(), in_, out_);
}

template <class Call>
TlsSession::Step TlsSession::step(Call&& call) {
  const std::lock_guard guard(lock_);
  if (failure_.fault != TlsFault::none && failure_.fault != TlsFault::truncated) return Step::failed;
  clear_queue();
  const int answer = call(ssl_.get());
  if (answer == 1) return Step::done;
  switch (SSL_get_error(ssl_.get(), answer)) {
    case SSL_ERROR_WANT_READ:
      return Step::wants_input;
    case SSL_ERROR_ZERO_RETURN:
      return Step::ended;
    default:
      failure_ = take_failure(ssl_.get(), shaken_);
      return Step::failed;
  }
}

// The first failure stays.
IoResult TlsSession::fail(TlsFailure failure) {
  const std::lock_guard guard(lock_);
  const int os_error = failure.os_error;
  if (failure_.fault == TlsFault::none) failure_ = std::move(failure);
  return IoResult::failed(os_error);
}

IoResult TlsSession::failed() const {
  const std::lock_guard guard(lock_);
  return IoResult::failed(failure_.os_error);
}

// The failure that closed it, if one did.
IoResult TlsSession::why_closed() const {
  const std::lock_guard guard(lock_);
  return IoResult::failed(failure_.os_error != 0 ? failure_.os_error : EBADF);
}

IoResult TlsSession::close() noexcept {
  // acq_rel: the first one closes
  return open_.exchange(false, std::memory_order_acq_rel) ? wire_.close() : IoResult::failed(EBADF);
}

TlsFailure TlsSession::failure() const {
  const std::lock_guard guard(lock_);
  return failure_;
}

std::size_t TlsSession::output() const {
  const std::lock_guard guard(lock_);
  return BIO_ctrl_pending(out_);
}

IoResult TlsSession::fill(Deadline deadline) {
  const IoResult got = wire_.read({inbox_.get(), input_at_once}, deadline);
  if (!got.ok() || got.value() == 0) return got;
  const std::lock_guard guard(lock_);
  clear_queue();
  const int size = static_cast<int>(got.value());
  if (BIO_write(in_, inbox_.get(), size) == size) return got;
  clear_queue();
  return IoResult::failed(ENOMEM);
}

IoResult TlsSession::pump(Deadline deadline) {
  if (write_error_ != 0) return IoResult::failed(write_error_);
  for (;;) {
    if (sent_ == outbox_.size()) {
      const std::lock_guard guard(lock_);
      outbox_.resize(std::min<std::size_t>(BIO_ctrl_pending(out_), INT_MAX));
      sent_ = 0;
      if (outbox_.empty()) return IoResult();
      (void)BIO_read(out_, outbox_.data(), static_cast<int>(outbox_.size()));
    }
    std::size_t written = 0;
    const IoResult result = wire_.write_bytes({outbox_.data() + sent_, outbox_.size() - sent_}, written, deadline);
    sent_ += written;
    // relaxed: a hint; outbox_ itself belongs to the turn
    rest_.store(sent_ != outbox_.size(), std::memory_order_relaxed);
    if (!result.ok()) return result;
  }
}

void TlsSession::pump_if_free() {
  // relaxed: whoever leaves a rest behind has the turn, and what follows looks at it in the turn
  while ((output() > 0 || rest_.load(std::memory_order_relaxed)) && write_turn_.try_lock()) {
    const IoResult result = pump(now());
    write_turn_.unlock();
    if (!result.ok()) return;
  }
}

void TlsSession::name_host(const std::string& host) {
  if (host.empty()) {
    if (context_->verifies()) throw std::invalid_argument("TLS: whose certificate is wanted? No host is named");
    return;
  }
  // A dot in front would mean any host below it; what is behind a 0 would not be looked at.
  if (host.front() == '.' || host.contains('\0')) throw std::invalid_argument("TLS: no name of a host: " + host);
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool good = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  if (!good) {
    std::string name = host;  // the macro for this casts its const away
    good = SSL_set1_host(ssl_.get(), host.c_str()) == 1 &&
           SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
  }
  clear_queue();
  if (!good) throw std::invalid_argument("TLS: no name of a host: " + host);
}

IoResult TlsSession::handshake(const std::string& host, Deadline deadline) {
  IoResult result;
  try {
    if (context_->is_server()) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
      name_host(host);
    }
    result = shake_hands(deadline);
  } catch (...) {
    (void)close();  // or a read would shake hands, with nobody's name checked
    throw;
  }
  if (!result.ok()) (void)close();  // [TLS-2]
  return result;
}

IoResult TlsSession::shake_hands(Deadline deadline) {
  for (;;) {
    const Step next = step([](SSL* ssl) { return SSL_do_handshake(ssl); });
    const IoResult sent = pump(deadline);  // an alert, if it has failed
    if (next == Step::failed) return failed();
    if (next == Step::ended) return fail({TlsFault::refused, ECONNABORTED, "TLS: closed by the other side"});
    if (!sent.ok()) return sent;
    if (next == Step::done) break;
    const IoResult got = fill(deadline);
    if (!got.ok()) return got;
    if (got.value() == 0) return fail(truncated_failure(false));
  }
  const std::lock_guard guard(lock_);
  shaken_ = true;
  return IoResult();
}

IoResult TlsSession::read(Room room, Deadline deadline) {
  if (room.size == 0) return IoResult();
  if (!is_open()) return why_closed();
  const IoResult turn = result_of(read_turn_.lock_result(deadline));
  if (!turn.ok()) return turn;
  const IoResult result = read_in_turn(room, deadline);
  read_turn_.unlock();
  input_.set();  // [TLS-5]
  return result;
}

IoResult TlsSession::read_in_turn(Room room, Deadline deadline) {
  for (;;) {
    std::size_t count = 0;
    const Step next = step([&](SSL* ssl) { return SSL_read_ex(ssl, room.data, room.size, &count); });
    pump_if_free();
    if (output() > most_output) {
      (void)close();
      return fail({TlsFault::protocol, EPROTO, "TLS: the other side asks for answers and reads none"});
    }
    switch (next) {
      case Step::done:
        return IoResult(static_cast<long>(count));
      case Step::ended:
        return IoResult();
      case Step::failed:
        (void)close();
        return failed();
      case Step::wants_input:
        break;
    }
    input_.set();  // [TLS-5]
    const IoResult got = fill(deadline);
    if (!got.ok()) return got;
    if (got.value() == 0) return fail(truncated_failure(true));
  }
}

IoResult TlsSession::finish_message(Deadline deadline) {
  for (;;) {
    input_.reset();  // before the look: what comes after it sets it again
    const Step next = step([](SSL* ssl) { return SSL_do_handshake(ssl); });
    if (next == Step::done) return IoResult();
    if (next == Step::failed) return failed();
    if (next == Step::ended) return IoResult::failed(EPROTO);
    IoResult got;
    if (read_turn_.try_lock()) {
      got = fill(deadline);
      read_turn_.unlock();
      if (got.ok() && got.value() == 0) return fail(truncated_failure(true));
    } else {
      got = result_of(input_.wait_result(deadline));
    }
    if (!got.ok()) return got;
  }
}

IoResult TlsSession::write(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) {
  written = 0;
  if (!is_open()) return why_closed();
  IoResult result = may_begin(deadline);
  if (result.ok()) result = result_of(write_turn_.lock_result(deadline));
  if (!result.ok()) return result;
  result = write_in_turn(pieces, written, deadline);
  if (!result.ok()) end_writing(result);
  write_turn_.unlock();
  if (result.ok()) pump_if_free();
  return result;
}

// [TLS-2]
void TlsSession::end_writing(IoResult why) {
  write_error_ = why.os_error();
  if (write_error_ != EPIPE && write_error_ != ECONNRESET) (void)close();
}

IoResult TlsSession::write_in_turn(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) {
  if (write_error_ != 0) return IoResult::failed(write_error_);
  std::size_t waiting = 0;  // encrypted, not yet sent
  for (const Bytes& piece : pieces) {
    for (std::size_t done = 0; done < piece.size;) {
      const Bytes left = piece.from(done);
      std::size_t count = 0;
      const Step next =
          step([&](SSL* ssl) { return SSL_write_ex(ssl, left.data, std::min(left.size, text_at_once), &count); });
      if (next != Step::done) {
        const IoResult whole = next == Step::wants_input ? finish_message(deadline)
                               : next == Step::failed    ? failed()
                                                         : IoResult::failed(EPROTO);
        if (whole.ok()) continue;
        (void)pump(deadline);
        return whole;
      }
      done += count;
      waiting += count;
      if (waiting < text_at_once) continue;
      const IoResult sent = pump(deadline);
      if (!sent.ok()) return sent;
      written += std::exchange(waiting, 0);
    }
  }
  const IoResult sent = pump(deadline);
  if (!sent.ok()) return sent;
  written += waiting;
  return IoResult(static_cast<long>(written));
}

IoResult TlsSession::shutdown_write(Deadline deadline) {
  if (!is_open()) return why_closed();
  IoResult result = result_of(write_turn_.lock_result(deadline));
  if (!result.ok()) return result;
  result = finish_message(deadline);
  if (result.ok()) {
    // 0: said, and not yet heard from the other side.
    // Asked again it would read, and fail if there is text.
    const Step next = step(
        [](SSL* ssl) { return (SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) != 0 || SSL_shutdown(ssl) >= 0 ? 1 : -1; });
    result = pump(deadline);
    if (next == Step::failed) result = failed();
  }
  if (!result.ok()) end_writing(result);
  write_turn_.unlock();
  if (result.ok()) pump_if_free();
  return result;
}

IoResult TlsSession::shutdown(Deadline deadline) {
  IoResult result = shutdown_write(deadline);
  char thrown_away[1024];
  while (result.ok()) {
    result = read(thrown_away, deadline);
    if (result == IoResult()) break;
  }
  const IoResult closed = close();
  return result.ok() ? closed : result;
}

std::string TlsSession::alpn() const {
  const std::lock_guard guard(lock_);
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TlsSession::version() const {
  const std::lock_guard guard(lock_);
  return SSL_get_version(ssl_.get());
}

std::string TlsSession::cipher() const {
  const std::lock_guard guard(lock_);
  return SSL_get_cipher_name(ssl_.get());
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "net/http_session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <span>
#include <utility>

#include "net/socket.hpp"
#include "weft/scope.hpp"
#include "weft/time.hpp"

namespace weft::inline v0::detail {

HttpSession::HttpSession(Wire& wire, Connection* connection, HttpServerCore& core)
    : wire_(wire),
      connection_(connection),
      core_(core),
      options_(core.options),
      parser_(HeadParser::Side::request, {options_.max_head, options_.max_fields}),
      body_(wire, input_, this),
      request_(*this),
      response_(*this) {}

void HttpSession::run() {
  bool gone = false;
  try {
    while (serve_one()) {
    }
    flush();
  } catch (const HttpError&) {  // of the wire: whom could it be said to
    gone = true;
  } catch (...) {
    if (is_torn()) (void)wire_.reset();
    throw;
  }
  if (is_torn()) return void(wire_.reset());
  if (gone || broken_) return;
  if (unread_) return linger();
  if (says_end_) (void)wire_.shutdown_write(later(now(), options_.body_time));  // TLS: else it reads as truncated
}

// An answer that ends with the connection is not whole: a plain end would say that it is.
bool HttpSession::is_torn() const {
  return response_.stage_ == HttpResponse::Stage::until_close;
}

// Waits for more of a head.
HttpSession::Head HttpSession::wait_for_head(Deadline& head_end) {
  flush();  // [SESSION-1]
  const bool idle = input_.empty();
  const Deadline time = now();
  // If the server stops: a request that has come by now is answered still, another one is not waited for.
  if (idle && connection_ != nullptr) (void)connection_->rest();
  if (!idle && head_end == never) head_end = later(time, options_.head_time);
  const IoResult result = wire_.read(input_.room(), idle ? later(time, options_.idle_time) : head_end);
  if (idle && connection_ != nullptr) (void)connection_->work();
  if (!result.ok()) {
    if (!idle && result.os_error() == ETIMEDOUT) {
      refuse(408, "the head took too long");
      return Head::refused;
    }
    return Head::end;
  }
  if (result.count() == 0) {
    if (idle) return Head::end;
    if (ends()) {  // it may be us who has ended the reading
      refuse(503, "the server stops");
    } else {
      refuse(400, "the request ends in its head");
    }
    return Head::refused;
  }
  input_.came(result.count());
  return Head::came;
}

HttpSession::Head HttpSession::read_head() {
  input_.next();
  parser_.begin();
  Deadline head_end = never;
  for (;;) {
    const Parse parse = input_.empty() ? Parse::more : parser_.feed(input_.unread());
    if (parse == Parse::done) return Head::came;
    if (parse == Parse::bad) {
      refuse(parser_.fault().status, parser_.fault().why);
      return Head::refused;
    }
    if (const Head more = wait_for_head(head_end); more != Head::came) return more;
  }
}

// False: it is refused.
bool HttpSession::begin_request() {
  Framing framing;
  input_.keep(parser_.size());
  const char* text = input_.kept();
  if (!parser_.frame_request(text, framing)) {
    refuse(parser_.fault().status, parser_.fault().why);
    return false;
  }
  if (parser_.method(text) == "CONNECT") {  // what follows the answer would be no HTTP any more
    refuse(501, "no tunnels here");
    return false;
  }
  request_.fields_ = &parser_.fields(text);
  request_.method_ = parser_.method(text);
  request_.target_ = parser_.target(text);
  request_.version_ = parser_.version();
  const bool modern = parser_.version() == HttpVersion::http_1_1;
  keep_ = !parser_.says_close() && (modern || parser_.says_keep_alive());
  continue_due_ = modern && parser_.expects_continue() && framing.kind != BodyKind::none;
  response_.stage_ = HttpResponse::Stage::open;
  response_.close_ = response_.has_length_ = false;
  response_.status_ = 200;
  fields_.clear();
  HttpPace pace;
  if (framing.kind != BodyKind::none) pace = {later(now(), options_.body_time), options_.min_rate};
  if (framing.kind == BodyKind::length && framing.length > options_.max_body) {
    refuse(413, "the body is larger than the limit");
    return false;
  }
  body_.begin(framing, options_.max_body, pace);
  return true;
}

bool HttpSession::serve_one() {
  if (read_head() != Head::came || !begin_request()) return false;
  core_.requests.fetch_add(1, std::memory_order_relaxed);  // relaxed: a counter
  call_handler();
  keep_ = keep_ && !broken_;
  if (!keep_) {
    unread_ = unread_ || !body_.at_end() || !input_.empty();
    return false;
  }
  // [SESSION-2]
  if (!body_.at_end()) {
    std::exception_ptr failure;
    try {
      keep_ = !continue_due_ && body_.drain(options_.max_drain);
    } catch (const HttpError&) {  // the answer has been given
      keep_ = false;
    }
    unread_ = !keep_;
  }
  if (out_.size() >= options_.gather) flush();
  return keep_;
}

void HttpSession::call_handler() {
  std::exception_ptr failure;
  try {
    core_.handler(request_, response_);
    finish();
  } catch (const Cancelled&) {
    if (cancel_requested()) throw;
    failure = std::current_exception();  // not this task's
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure != nullptr) end_badly(failure);
}

void HttpSession::end_badly(const std::exception_ptr& failure) {
  int status = 500;
  constexpr const char* unhandled = "the request could not be handled";
  std::string why = unhandled;
  bool ours = true;
  try {
    std::rethrow_exception(failure);
  } catch (const HttpError& error) {
    ours = false;
    status = error.status();
    why = error.what();
    if (error.failure() != HttpFailure::refused) keep_ = false;
    if (error.failure() == HttpFailure::closed && ends()) status = 503;
  } catch (...) {  // NOLINT(bugprone-empty-catch): told below
  }
  if (status < 200 || status > 999) {  // of the wire, of a client that the handler has asked, or no status at all
    if (broken_ || body_.gone()) {     // nobody would hear it
      keep_ = false;
      return;
    }
    ours = true;
    status = 500;
    why = unhandled;
  }
  if (ours) {
    core_.failed.fetch_add(1, std::memory_order_relaxed);  // relaxed: a counter
    if (options_.server.on_trouble) options_.server.on_trouble({wire_.peer(), 0, failure});
  } else if (status >= 400 && !keep_) {
    core_.refused.fetch_add(1, std::memory_order_relaxed);  // relaxed: a counter
  }
  if (response_.begun()) {  // nothing can be said any more but by an early end
    keep_ = false;
    return;
  }
  answer_plainly(status, why);
}

void HttpSession::answer_plainly(int status, std::string_view why) {
  response_.stage_ = HttpResponse::Stage::open;
  response_.has_length_ = false;
  response_.status_ = status;
  fields_.assign("Content-Type: text/plain\r\n");
  std::string text(why);
  text += '\n';
  response_.send(text);
}

void HttpSession::refuse(int status, const char* why) {
  core_.refused.fetch_add(1, std::memory_order_relaxed);  // relaxed: a counter
  keep_ = false;
  unread_ = true;
  request_.method_ = {};
  request_.version_ = HttpVersion::http_1_1;
  answer_plainly(status, why);
}

// Closing while the client still sends would make the kernel say "reset", and the client forget the answer.
void HttpSession::linger() {
  constexpr std::chrono::nanoseconds span = std::chrono::seconds(1);
  const Deadline end = now() + span;
  if (!wire_.shutdown_write(end).ok()) return;
  std::array<char, 16384> room;
  // By time alone: who sends a lot more gets a reset instead of the answer if what it sends is not taken.
  for (;;) {
    const IoResult result = wire_.read(room, end);
    if (!result.ok() || result.count() == 0) return;
  }
}

void HttpSession::flush() {
  if (!out_.empty()) write_out({}, {});
}

// What is held back, and these, by one call.
void HttpSession::write_out(Bytes piece, std::string_view after) {
  if (broken_) {  // nothing fits behind a part of an answer
    out_.clear();
    throw HttpError(HttpFailure::closed, 0, "writing an answer: an earlier write was cut short");
  }
  const std::array<Bytes, 3> all{Bytes(out_), piece, Bytes(after)};
  const std::span<const Bytes> pieces(all.data(), piece.size != 0 ? all.size() : 1);
  const HttpPace pace{later(now(), options_.body_time), options_.min_rate};
  std::size_t written = 0;
  broken_ = true;  // until it is whole
  const IoResult result = wire_.write_all(pieces, written, pace.deadline(out_.size() + piece.size));
  out_.clear();
  if (out_.capacity() > 4 * options_.gather) out_.shrink_to_fit();
  if (!result.ok()) {
    keep_ = false;
    throw_wire_error(result, "writing an answer");
  }
  broken_ = false;
}

void HttpSession::before_wait() {
  if (std::exchange(continue_due_, false) && !response_.begun()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  flush();  // [SESSION-1]
}

}  // namespace weft::inline v0::detail

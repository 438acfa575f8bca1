// SPDX-License-Identifier: MIT
// What: what a handler sees: the request and its response; and the service that calls it.
#include "weft/http_server.hpp"

#include <charconv>
#include <ctime>
#include <stdexcept>

#include "net/http_session.hpp"
#include "net/http_text.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

constexpr std::size_t worth_a_copy = 16384;  // larger pieces are written from where they are

void put_number(std::string& out, std::uint64_t number, std::string_view after, int base = 10) {
  char digits[24];
  char* end = std::to_chars(std::begin(digits), std::end(digits) - after.size(), number, base).ptr;
  end += after.copy(end, after.size());
  out.append(digits, end);
}

bool is_the_servers(std::string_view name) {
  return same_word(name, "connection") || same_word(name, "content-length") || same_word(name, "date") ||
         same_word(name, "transfer-encoding");
}

}  // namespace

std::string_view HttpRequest::path() const {
  std::string_view path = target_;
  if (!path.starts_with('/')) {
    const std::size_t scheme = path.find("://");
    if (scheme == std::string_view::npos) return path;
    const std::size_t begin = path.find_first_of("/?", scheme + 3);
    if (begin == std::string_view::npos || path[begin] == '?') return "/";
    path.remove_prefix(begin);
  }
  return path.substr(0, path.find('?'));
}

std::string_view HttpRequest::query() const {
  const std::size_t mark = target_.find('?');
  return mark == std::string_view::npos ? std::string_view() : target_.substr(mark + 1);
}

std::string_view HttpRequest::host() const {
  const std::size_t scheme = target_.starts_with('/') ? std::string_view::npos : target_.find("://");
  if (scheme == std::string_view::npos) return field("host").value_or("");
  const std::string_view rest = target_.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?"));
}

Address HttpRequest::peer() const {
  return session_.wire_.peer();
}

std::optional<std::uint64_t> HttpRequest::content_length() const {
  const Framing& framing = session_.body_.framing();
  if (framing.kind == BodyKind::chunked) return std::nullopt;
  return framing.length;
}

std::size_t HttpRequest::read(weft::Room room) {
  return session_.body_.read(room);
}

std::string HttpRequest::body() {
  std::string all;
  std::size_t size = 0;
  for (;;) {
    if (all.size() - size < 4096) all.resize(size + std::max<std::size_t>(4096, size));
    const std::size_t count = read({all.data() + size, all.size() - size});
    if (count == 0) break;
    size += count;
  }
  all.resize(size);
  return all;
}

HttpResponse& HttpResponse::status(int code) {
  if (code < 200 || code > 999) throw std::invalid_argument("a status is a number from 200 to 999");
  if (begun()) throw std::logic_error("a status after the head was sent");
  status_ = code;
  return *this;
}

HttpResponse& HttpResponse::field(std::string_view name, std::string_view value) {
  if (name.empty() || !all_http(name, http_token) || is_the_servers(name))
    throw std::invalid_argument("no name of a field that a handler may send: " + std::string(name));
  if (!all_value(value)) throw std::invalid_argument("control characters in the field " + std::string(name));
  if (begun()) throw std::logic_error("a field after the head was sent: " + std::string(name));
  session_.fields_.append(name).append(": ").append(value).append("\r\n");
  return *this;
}

HttpResponse& HttpResponse::close() {
  close_ = true;
  if (begun()) session_.keep_ = false;
  return *this;
}

HttpResponse& HttpResponse::content_length(std::uint64_t bytes) {
  if (begun()) throw std::logic_error("content_length() after the head was sent");
  has_length_ = true;
  left_ = bytes;
  return *this;
}

void HttpResponse::send(Bytes body) {
  if (begun()) throw std::logic_error("send() of an answer that has begun");
  if (has_length_ && left_ != body.size) throw std::logic_error("send() of another length than content_length() told");
  stage_ = Stage::done;  // before: half a head is begun, too
  session_.put_head(Stage::length, body.size, true);
  if (session_.has_no_body()) return;
  if (body.size <= worth_a_copy) {
    session_.out_.append(body.chars(), body.size);
  } else {
    session_.write_out(body, {});
  }
}

void HttpResponse::write(Bytes piece) {
  if (stage_ == Stage::done) throw std::logic_error("write() after send()");
  if (stage_ == Stage::open) {
    stage_ = has_length_                                            ? Stage::length
             : session_.request_.version() == HttpVersion::http_1_0 ? Stage::until_close
                                                                    : Stage::chunked;
    session_.put_head(stage_, left_, false);
  }
  if (stage_ == Stage::length) {
    if (piece.size > left_) throw std::logic_error("more was written than content_length() told");
    left_ -= piece.size;
  }
  if (piece.size == 0 || session_.has_no_body()) return;
  session_.put_chunk(piece);
}

void HttpResponse::flush() {
  if (stage_ == Stage::open) write({});
  session_.flush();
}

namespace detail {

bool HttpSession::has_no_body() const {
  return request_.method() == "HEAD" || response_.status_ == 204 || response_.status_ == 304;
}

bool HttpSession::will_close(bool whole) const {
  if (!keep_ || response_.close_) return true;
  if (!body_.at_end()) {
    const Framing& framing = body_.framing();
    if (continue_due_) return true;
    // A handler that answers in pieces may go on reading.
    if (whole && framing.kind == BodyKind::length && framing.length - body_.came() > options_.max_drain) return true;
  }
  return connection_ != nullptr && connection_->stopping() && input_.empty();
}

void HttpSession::put_head(HttpResponse::Stage stage, std::uint64_t length, bool whole) {
  using Stage = HttpResponse::Stage;
  keep_ = !will_close(whole) && stage != Stage::until_close;
  if (response_.status_ == 200) {
    out_.append("HTTP/1.1 200 OK\r\n");
  } else {
    out_.append("HTTP/1.1 ");
    put_number(out_, static_cast<std::uint64_t>(response_.status_), " ");
    out_.append(http_reason(response_.status_)).append("\r\n");
  }
  if (options_.date) {
    const std::time_t time = options_.clock != nullptr ? options_.clock() : std::time(nullptr);
    out_.append(date_.field_at(time));
  }
  if (stage == Stage::length && response_.status_ != 204) {
    // What would have been the length of a 304 is not known here.
    if (response_.status_ != 304) {
      out_.append("Content-Length: ");
      put_number(out_, length, "\r\n");
    }
  } else if (stage == Stage::chunked && response_.status_ != 204 && response_.status_ != 304) {
    out_.append("Transfer-Encoding: chunked\r\n");
  }
  out_.append(fields_);
  if (!keep_) {
    out_.append("Connection: close\r\n");
  } else if (request_.version() == HttpVersion::http_1_0) {
    out_.append("Connection: keep-alive\r\n");
  }
  out_.append("\r\n");
}

void HttpSession::put_chunk(Bytes piece) {
  const bool chunked = response_.stage_ == HttpResponse::Stage::chunked;
  if (chunked) {
    put_number(out_, piece.size, "\r\n", 16);
  }
  const std::string_view after = chunked ? "\r\n" : "";
  if (piece.size > worth_a_copy) return write_out(piece, after);
  out_.append(piece.chars(), piece.size).append(after);
  if (out_.size() > worth_a_copy) flush();
}

void HttpSession::finish() {
  using Stage = HttpResponse::Stage;
  switch (response_.stage_) {
    case Stage::open:
      if (response_.has_length_ && response_.left_ != 0) {
        if (!has_no_body()) throw std::logic_error("less was written than content_length() told");
        response_.stage_ = Stage::done;
        put_head(Stage::length, response_.left_, true);
        break;
      }
      response_.send({});
      break;
    case Stage::length:
      if (response_.left_ != 0 && !has_no_body()) throw std::logic_error("less was written than content_length() told");
      break;
    case Stage::chunked:
      if (!has_no_body()) out_.append("0\r\n\r\n");
      break;
    case Stage::until_close:
      says_end_ = true;
      break;
    case Stage::done:
      break;
  }
  response_.stage_ = Stage::done;
}

}  // namespace detail

HttpService::HttpService(const HttpServerOptions& options, HttpHandler handler)
    : core_(std::make_unique<HttpServerCore>()) {
  core_->options = options;
  core_->handler = std::move(handler);
}
HttpService::~HttpService() = default;

void HttpService::serve(Wire& wire, Connection& connection) {
  HttpSession(wire, &connection, *core_).run();
}

void HttpService::serve(Wire& wire) {
  HttpSession(wire, nullptr, *core_).run();
}

HttpCounts HttpService::counts() const {
  // relaxed: a counter
  const auto read = [](const seam::Atomic<std::uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  return {read(core_->requests), read(core_->refused), read(core_->failed)};
}

}  // namespace weft::inline v0

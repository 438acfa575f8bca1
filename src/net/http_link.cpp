// SPDX-License-Identifier: MIT
#include "net/http_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "net/http_text.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t at_once = 65536;  // a longer body is sent while the answer is waited for
constexpr std::chrono::nanoseconds notice_time = std::chrono::milliseconds(5);
constexpr int most_interim = 10;  // answers before the answer: 100, 103

bool has_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

bool is_the_clients(std::string_view name) {
  return same_word(name, "connection") || same_word(name, "content-length") || same_word(name, "host") ||
         same_word(name, "transfer-encoding") || same_word(name, "expect");
}

[[noreturn]] void refuse_call(const std::string& what) {
  throw HttpError(HttpFailure::bad_request, 0, what);
}

}  // namespace

HttpLink::HttpLink(std::unique_ptr<Wire> wire, const HttpClientOptions& options)
    : wire_(std::move(wire)),
      options_(options),
      parser_(HeadParser::Side::answer, {options.max_head, options.max_fields}),
      body_(*wire_, input_, nullptr) {}

bool HttpLink::is_quiet() {
  char byte = 0;
  return wire_->read({&byte, 1}, now()).os_error() == ETIMEDOUT;
}

void HttpLink::put_head(const HttpCall& call, const HttpUrl& url) {
  if (call.method.empty() || !all_http(call.method, http_token) || call.method == "CONNECT")
    refuse_call("no method: " + call.method);
  out_.assign(call.method).append(" ").append(url.target).append(" HTTP/1.1\r\nHost: ").append(url.authority);
  out_.append("\r\n");
  for (const auto& [name, value] : call.fields) {
    if (name.empty() || !all_http(name, http_token) || is_the_clients(name))
      refuse_call("no name of a field to send: " + name);
    if (!all_http(value, http_value)) refuse_call("control characters in the field " + name);
    out_.append(name).append(": ").append(value).append("\r\n");
  }
  if (call.source) {
    out_.append("Transfer-Encoding: chunked\r\n");
  } else if (call.body.size != 0 || has_body(call.method)) {
    out_.append("Content-Length: ").append(std::to_string(call.body.size)).append("\r\n");
  }
  out_.append("\r\n");
}

bool HttpLink::write(Bytes more, std::string_view after, Deadline deadline) {
  const std::array<Bytes, 3> pieces{Bytes(out_), more, Bytes(after)};
  std::size_t written = 0;
  failure_ = wire_->write_all(pieces, written, deadline);
  out_.clear();
  return failure_.ok();
}

void HttpLink::send_chunks(const HttpCall& call, Deadline deadline) {
  std::array<char, 16384> room;
  for (;;) {
    const std::size_t count = call.source(weft::Room(room));
    if (count > room.size()) throw std::logic_error("a source has filled more than its room");
    std::array<char, 20> size;
    const std::to_chars_result end = std::to_chars(size.data(), size.data() + size.size(), count, 16);
    out_.append(size.data(), end.ptr).append("\r\n");
    if (!write({room.data(), count}, "\r\n", deadline) || count == 0) return;
  }
}

bool HttpLink::send(const HttpCall& call, Deadline deadline) {
  if (call.source) {
    send_chunks(call, deadline);
  } else {
    (void)write(call.body, {}, deadline);
  }
  return failure_.ok();
}

HttpReply HttpLink::exchange(const HttpCall& call, const HttpUrl& url, Deadline deadline) {
  reusable_ = answered_ = false;
  failure_ = unsent_ = IoResult();
  put_head(call, url);
  if (!call.source && call.body.size <= at_once) {
    // Who refuses a question may have answered it before it was all there.
    if (!send(call, deadline) && failure_.os_error() != EPIPE && failure_.os_error() != ECONNRESET)
      throw_wire_error(failure_, "sending the request");
    unsent_ = failure_;
    return read_answer(call, deadline);
  }
  HttpReply reply;
  bool sent = false;
  with_nursery([&](Nursery& nursery) {
    auto sender = nursery.spawn([&] { sent = send(call, deadline); });
    reply = read_answer(call, deadline);
    // It has answered, and wants no more; or all is sent, and the sender just has to notice.
    if (!sender.wait_for(notice_time)) sender.cancel();
  });
  reusable_ = reusable_ && sent;
  return reply;
}

void HttpLink::read_head(Deadline deadline) {
  input_.next();
  parser_.begin();
  for (;;) {
    const Parse parse = input_.empty() ? Parse::more : parser_.feed(input_.unread());
    if (parse == Parse::done) return input_.keep(parser_.size());
    if (parse == Parse::bad) {
      const bool large = parser_.fault().status == 431 || parser_.fault().status == 414;
      throw HttpError(large ? HttpFailure::too_large : HttpFailure::bad_message, 0, parser_.fault().why);
    }
    const IoResult result = wire_->read(input_.room(), deadline);
    if (!result.ok()) throw_wire_error(unsent_.ok() ? result : unsent_, "waiting for the answer");
    if (result.count() == 0)
      throw HttpError(
          HttpFailure::closed, 0,
          answered_ ? "the server has ended in the middle of a head" : "the server has closed without an answer");
    answered_ = true;
    input_.came(result.count());
  }
}

HttpReply HttpLink::read_answer(const HttpCall& call, Deadline deadline) {
  int interim = 0;
  do {
    if (interim++ > most_interim) throw HttpError(HttpFailure::bad_message, 0, "no end of interim answers");
    read_head(deadline);
    if (parser_.status() == 101) throw HttpError(HttpFailure::bad_message, 0, "a switch that was not asked for");
  } while (parser_.status() < 200);

  HttpReply reply;
  const char* text = input_.kept();
  Framing framing;
  if (!parser_.frame_answer(text, call.method == "HEAD", framing))
    throw HttpError(HttpFailure::bad_message, 0, parser_.fault().why);
  reply.status = parser_.status();
  reply.reason = parser_.reason(text);
  reply.version = parser_.version();
  const HttpFields& fields = parser_.fields(text);
  for (std::size_t i = 0; i < fields.size(); ++i) reply.fields.emplace_back(fields[i].name, fields[i].value);

  body_.begin(framing, options_.max_body, {deadline, 0});
  // Not more at the server's mere word.
  if (framing.kind == BodyKind::length && !call.sink)
    reply.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(framing.length, at_once)));
  std::array<char, 8192> room;
  while (const std::size_t count = body_.read(weft::Room(room))) {
    if (call.sink) {
      call.sink({room.data(), count});
    } else {
      reply.body.append(room.data(), count);
    }
  }
  const bool stays = parser_.version() == HttpVersion::http_1_1 ? !parser_.says_close()
                                                                : parser_.says_keep_alive() && !parser_.says_close();
  reusable_ = stays && unsent_.ok() && framing.kind != BodyKind::until_close && input_.empty();
  return reply;
}

}  // namespace weft::inline v0::detail

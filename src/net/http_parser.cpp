// SPDX-License-Identifier: MIT
#include "net/http_parser.hpp"

#include <cstring>

#include "net/http_text.hpp"

namespace weft::inline v0::detail {

void HeadParser::begin() {
  begun_ = skipped_ = close_ = keep_alive_ = expects_continue_ = expects_more_ = false;
  version_ = HttpVersion::http_1_1;
  status_ = 0;
  hosts_ = lengths_ = encodings_ = 0;
  length_at_ = encoding_at_ = none;
  at_ = searched_ = start_ = first_size_ = second_ = second_size_ = 0;
  fields_.clear();
  fault_ = {};
}

Parse HeadParser::feed(std::string_view text) {
  for (;;) {
    // What is no HTTP at all (a TLS greeting) is not waited for to end.
    if (!begun_ && at_ < text.size() && !is_http(text[at_], http_token) && text[at_] != '\r') {
      fail(400, "the first line begins with no word");
      return Parse::bad;
    }
    const void* found =
        searched_ < text.size() ? std::memchr(text.data() + searched_, '\n', text.size() - searched_) : nullptr;
    const std::size_t end =
        found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : text.size();
    if (end >= limits_.bytes) {
      fail(begun_ ? 431 : 414, begun_ ? "the head is too large" : "the first line is too long");
      return Parse::bad;
    }
    if (found == nullptr) {
      searched_ = end;
      return Parse::more;
    }
    if (end == at_ || text[end - 1] != '\r') {
      fail(400, "a line ends without CR");
      return Parse::bad;
    }
    const char* line = text.data() + at_;
    const std::size_t size = end - 1 - at_;
    bool good = true;
    bool done = false;
    if (begun_) {
      done = size == 0;
      good = done || take_field(text, size);
    } else if (size == 0) {
      // One empty line before a request: what some clients send after a body.
      good = side_ == Side::request && !skipped_;
      skipped_ = true;
      if (!good) fail(400, "the first line is empty");
    } else {
      begun_ = true;
      good = side_ == Side::request ? take_request_line(line, size) : take_status_line(line, size);
    }
    if (!good) return Parse::bad;
    at_ = searched_ = end + 1;
    if (done) return Parse::done;
  }
}

bool HeadParser::take_version(std::string_view word) {
  if (word == "HTTP/1.1") return true;
  const bool named = word.size() == 8 && word.starts_with("HTTP/") && is_http(word[5], http_digit) && word[6] == '.' &&
                     is_http(word[7], http_digit);
  if (!named) return fail(400, "no HTTP version");
  if (word[5] != '1') return fail(505, "another version of HTTP");
  if (word[7] == '0') version_ = HttpVersion::http_1_0;
  return true;
}

bool HeadParser::take_request_line(const char* text, std::size_t size) {
  const std::string_view line(text, size);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return fail(400, "the request line is not three words");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (method.empty() || !all_http(method, http_token)) return fail(400, "the method is no word");
  if (target.empty() || !all_http(target, http_target)) return fail(400, "the target has characters it must not have");
  if (!take_version(line.substr(last + 1))) return false;
  const std::size_t scheme = target.find("://");
  const bool known = target.front() == '/' ||
                     (method == "CONNECT" ? target.find('/') == std::string_view::npos
                                          : scheme != std::string_view::npos && scheme != 0 &&
                                                all_http(target.substr(0, scheme), http_token)) ||
                     (target == "*" && method == "OPTIONS");
  if (!known) return fail(400, "the target is no path");
  start_ = at_;
  first_size_ = method.size();
  second_ = at_ + first + 1;
  second_size_ = target.size();
  return true;
}

bool HeadParser::take_status_line(const char* text, std::size_t size) {
  const std::string_view line(text, size);
  if (line.size() < 12 || line[8] != ' ') return fail(502, "no status line");
  if (!take_version(line.substr(0, 8))) return false;
  if (!all_http(line.substr(9, 3), http_digit) || line[9] == '0') return fail(502, "the status is no number");
  if (line.size() > 12 && line[12] != ' ') return fail(502, "the status has more than three digits");
  status_ = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  second_ = at_ + (line.size() > 12 ? 13U : 12U);
  second_size_ = at_ + size - second_;
  if (!all_http(line.substr(second_ - at_), http_value)) return fail(502, "the reason has control characters");
  return true;
}

bool HeadParser::take_field(std::string_view text, std::size_t size) {
  const char* line = text.data() + at_;
  std::size_t colon = 0;
  while (colon < size && is_http(line[colon], http_token)) ++colon;
  if (colon == 0) return fail(400, "a field without a name, or a folded line");
  if (colon == size || line[colon] != ':') return fail(400, "a field's name has characters it must not have");
  const std::string_view rest(line + colon + 1, size - colon - 1);
  if (!all_value(rest)) return fail(400, "a field's value has control characters");
  if (fields_.size() == limits_.fields) return fail(431, "too many fields");
  const std::string_view value = trimmed(rest);
  fields_.add({static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(colon),
               static_cast<std::uint32_t>(value.data() - text.data()), static_cast<std::uint32_t>(value.size())});
  return note_field({line, colon}, value);
}

bool HeadParser::note_field(std::string_view name, std::string_view value) {
  const auto index = static_cast<std::uint32_t>(fields_.size() - 1);
  switch (name.size()) {
    case 4:
      if (same_word(name, "host")) {
        ++hosts_;
        if (!all_http(value, http_host)) return fail(400, "Host is no name");
      }
      break;
    case 6:
      if (same_word(name, "expect")) {
        const bool waits = same_word(value, "100-continue");
        expects_continue_ = expects_continue_ || waits;
        expects_more_ = expects_more_ || !waits;
      }
      break;
    case 10:
      if (same_word(name, "connection"))
        for_each_member(value, [&](std::string_view word) {
          close_ = close_ || same_word(word, "close");
          keep_alive_ = keep_alive_ || same_word(word, "keep-alive");
        });
      break;
    case 14:
      if (same_word(name, "content-length")) {
        ++lengths_;
        length_at_ = index;
      }
      break;
    case 17:
      if (same_word(name, "transfer-encoding")) {
        ++encodings_;
        encoding_at_ = index;
      }
      break;
    default:
      break;
  }
  return true;
}

bool HeadParser::take_encoding(const char* text, Framing& into) {
  const std::string_view value = fields(text)[encoding_at_].value;
  if (version_ == HttpVersion::http_1_0) return fail(400, "Transfer-Encoding in HTTP/1.0");
  if (lengths_ != 0) return fail(400, "both Transfer-Encoding and Content-Length");
  if (encodings_ != 1) return fail(400, "Transfer-Encoding twice");
  if (!same_word(value, "chunked")) return fail(501, "a Transfer-Encoding other than chunked");
  into.kind = BodyKind::chunked;
  return true;
}

bool HeadParser::take_length(const char* text, Framing& into) {
  if (lengths_ != 1) return fail(400, "Content-Length twice");
  if (!parse_length(fields(text)[length_at_].value, into.length)) return fail(400, "Content-Length is no number");
  into.kind = into.length != 0 ? BodyKind::length : BodyKind::none;
  return true;
}

bool HeadParser::frame_request(const char* text, Framing& into) {
  into = {};
  if (hosts_ != 1 && (hosts_ > 1 || version_ == HttpVersion::http_1_1))
    return fail(400, hosts_ == 0 ? "no Host" : "Host twice");
  if (expects_more_) return fail(417, "an Expect other than 100-continue");
  if (encodings_ != 0) return take_encoding(text, into);
  if (lengths_ != 0) return take_length(text, into);
  return true;
}

bool HeadParser::frame_answer(const char* text, bool to_head, Framing& into) {
  into = {};
  // Said of what would have been there; still it must make sense.
  Framing said{BodyKind::until_close, 0};
  if (encodings_ != 0) {
    if (!take_encoding(text, said)) return false;
  } else if (lengths_ != 0 && !take_length(text, said)) {
    return false;
  }
  if (to_head || status_ < 200 || status_ == 204 || status_ == 304) return true;
  into = said;
  return true;
}

bool parse_length(std::string_view text, std::uint64_t& into) {
  if (text.empty() || text.size() > 18 || !all_http(text, http_digit)) return false;
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  into = value;
  return true;
}

}  // namespace weft::inline v0::detail

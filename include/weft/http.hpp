// SPDX-License-Identifier: MIT
// What: what the two ends of HTTP/1.1 have in common: the fields of a message, the errors, the names of status codes.
// The ends are weft/http_server.hpp and weft/http_client.hpp.
//
// Strict: a message that two readers could understand in two ways is refused, not guessed at. Lines end with CR LF; no
// folded lines, no blank before a colon, no control characters; one Content-Length of digits, or one Transfer-Encoding
// that is "chunked", never both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::inline v0 {

struct HttpField {
  std::string_view name;
  std::string_view value;
};

enum class HttpVersion : std::uint8_t { http_1_0, http_1_1 };

// The fields of a message, in the order in which they came: views of a text that somebody else keeps. Names are the
// same in whatever case.
class HttpFields {
 public:
  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  HttpField operator[](std::size_t index) const {
    const Place& place = places_[index];
    return {{text_ + place.name, place.name_size}, {text_ + place.value, place.value_size}};
  }
  // The first of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Is the word one of the members, separated by commas, of the fields of that name? In whatever case.
  bool lists(std::string_view name, std::string_view word) const;

  // For the library's own.
  struct Place {
    std::uint32_t name = 0;
    std::uint32_t name_size = 0;
    std::uint32_t value = 0;
    std::uint32_t value_size = 0;
  };
  void clear() { places_.clear(); }
  void add(const Place& place) { places_.push_back(place); }
  void set_text(const char* text) { text_ = text; }

 private:
  const char* text_ = nullptr;
  std::vector<Place> places_;
};

// What went wrong, for a program; what() says it to people.
enum class HttpFailure : std::uint8_t {
  bad_message,   // the other side does not speak HTTP as it should
  too_large,     // more than the limit for a head or a body
  timed_out,     // the other side was too slow
  closed,        // the other side has gone in the middle of it
  refused,       // by a handler: status() says how
  bad_request,   // what the caller asked the client for makes no sense: a URL, a field
  no_address,    // nobody has that name, or it cannot be said now
  no_connection  // nobody answers there
};
const char* to_string(HttpFailure failure);

class HttpError : public std::runtime_error {
 public:
  // `status`: how a server answers that, 0: by nothing.
  HttpError(HttpFailure failure, int status, const std::string& what, int os_error = 0)
      : std::runtime_error(what), failure_(failure), status_(status), os_error_(os_error) {}
  // For a handler: ends the request by this answer.
  HttpError(int status, const std::string& what) : HttpError(HttpFailure::refused, status, what) {}

  HttpFailure failure() const noexcept { return failure_; }
  int status() const noexcept { return status_; }
  int os_error() const noexcept { return os_error_; }

 private:
  HttpFailure failure_;
  int status_;
  int os_error_;
};

// "OK" for 200; "" if it has no name.
std::string_view http_reason(int status);

}  // namespace weft::inline v0

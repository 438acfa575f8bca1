// SPDX-License-Identifier: MIT
#include "weft/http.hpp"

#include "net/http_text.hpp"

namespace weft::inline v0 {

using namespace detail;

std::optional<std::string_view> HttpFields::find(std::string_view name) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (const HttpField field = (*this)[i]; same_word(field.name, name)) return field.value;
  return std::nullopt;
}

std::size_t HttpFields::count(std::string_view name) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += same_word((*this)[i].name, name) ? 1U : 0U;
  return found;
}

bool HttpFields::lists(std::string_view name, std::string_view word) const {
  bool found = false;
  for (std::size_t i = 0; i < size(); ++i) {
    const HttpField field = (*this)[i];
    if (!same_word(field.name, name)) continue;
    for_each_member(field.value, [&](std::string_view member) { found = found || same_word(member, word); });
  }
  return found;
}

const char* to_string(HttpFailure failure) {
  switch (failure) {
    case HttpFailure::bad_message:
      return "bad message";
    case HttpFailure::too_large:
      return "too large";
    case HttpFailure::timed_out:
      return "timed out";
    case HttpFailure::closed:
      return "closed";
    case HttpFailure::refused:
      return "refused";
    case HttpFailure::bad_request:
      return "bad request";
    case HttpFailure::no_address:
      return "no address";
    case HttpFailure::no_connection:
      return "no connection";
  }
  return "?";
}

std::string_view http_reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 203:
      return "Non-Authoritative Information";
    case 204:
      return "No Content";
    case 205:
      return "Reset Content";
    case 206:
      return "Partial Content";
    case 300:
      return "Multiple Choices";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace weft::inline v0

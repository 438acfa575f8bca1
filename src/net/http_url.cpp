// SPDX-License-Identifier: MIT
#include <charconv>

#include "net/http_text.hpp"
#include "weft/http_client.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

[[noreturn]] void refuse_url(std::string_view url, const char* why) {
  throw HttpError(HttpFailure::bad_request, 0, std::string(why) + ": " + std::string(url));
}

std::uint16_t parse_port(std::string_view text, std::string_view url) {
  std::uint16_t port = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), port);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || port == 0) refuse_url(url, "no port");
  return port;
}

// Into the name and the port, if there is one.
std::pair<std::string_view, std::string_view> split_authority(std::string_view authority, std::string_view url) {
  if (!authority.starts_with('[')) {
    const std::size_t colon = authority.find(':');
    if (colon == std::string_view::npos) return {authority, {}};
    return {authority.substr(0, colon), authority.substr(colon + 1)};
  }
  const std::size_t close = authority.find(']');
  if (close == std::string_view::npos) refuse_url(url, "no end of the address");
  const std::string_view rest = authority.substr(close + 1);
  if (!rest.empty() && rest.front() != ':') refuse_url(url, "no port");
  return {authority.substr(1, close - 1), rest.empty() ? rest : rest.substr(1)};
}

bool is_host(std::string_view host) {
  for (const char c : host)
    if (!is_http(c, http_token) && c != ':') return false;
  return !host.empty() && host.find('%') == std::string_view::npos;
}

}  // namespace

HttpUrl parse_http_url(std::string_view url) {
  HttpUrl parts;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) refuse_url(url, "no URL");
  for (const char c : url.substr(0, colon)) parts.origin.scheme += lower(c);
  if (parts.origin.scheme != "http" && parts.origin.scheme != "https") refuse_url(url, "neither http nor https");
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t slash = rest.find_first_of("/?");
  const std::string_view authority = rest.substr(0, slash);
  const std::string_view target = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  if (!all_http(target, http_target)) refuse_url(url, "characters that a URL must not have");
  if (authority.find('@') != std::string_view::npos) refuse_url(url, "a user in a URL is not sent");
  const auto [host, port] = split_authority(authority, url);
  if (!is_host(host)) refuse_url(url, "no host");
  for (const char c : host) parts.origin.host += lower(c);
  const std::uint16_t usual = parts.origin.scheme == "http" ? 80 : 443;
  const bool has_port =
      authority.find(':', authority.starts_with('[') ? authority.find(']') : 0) != std::string_view::npos;
  parts.origin.port = has_port ? parse_port(port, url) : usual;
  parts.authority = authority.starts_with('[') ? "[" + parts.origin.host + "]" : parts.origin.host;
  if (parts.origin.port != usual) parts.authority += ":" + std::to_string(parts.origin.port);
  parts.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  return parts;
}

}  // namespace weft::inline v0

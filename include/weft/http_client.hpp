// SPDX-License-Identifier: MIT
// What: an HTTP/1.1 client that keeps its connections.
//
//   weft::HttpClient client;
//   weft::HttpReply reply = client.get("http://127.0.0.1:8080/");
//   if (reply.status == 200) use(reply.body);
//
// Every status is an answer, redirects too: nothing is followed silently. What is no answer is an HttpError, whose
// failure() says what happened and what() says it with the URL.
// A connection that the server has closed meanwhile is noticed (408 is such an end, too); a request that may be asked
// twice (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) is asked again then, on a new connection, once per connection that was
// kept. Kept connections that are over are closed by the next call.
// Threads: any number at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/http.hpp"
#include "weft/wire.hpp"

namespace weft::inline v0 {

namespace detail {
struct HttpClientCore;
}  // namespace detail

// Who is asked.
struct HttpOrigin {
  std::string scheme;  // "http"; "https" needs HttpClientOptions::connect
  std::string host;    // a name, or an address without brackets
  std::uint16_t port = 0;

  friend bool operator==(const HttpOrigin&, const HttpOrigin&) = default;
};

using HttpFieldList = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  std::string method = "GET";
  std::string url;  // "http://host:port/path?query"; a fragment is not sent
  HttpFieldList fields = {};
  Bytes body = {};
  // Instead of body: fills the room with what comes next, how much; 0: the end. Sent in chunks.
  std::function<std::size_t(weft::Room)> source = nullptr;
  // Instead of HttpReply::body: gets the body of the answer as it comes.
  std::function<void(Bytes)> sink = nullptr;
  std::optional<std::chrono::nanoseconds> timeout = {};  // for all of it; the client's, if not told
};

struct HttpReply {
  int status = 0;
  std::string reason;
  HttpVersion version = HttpVersion::http_1_1;
  HttpFieldList fields;
  std::string body;

  // The first of that name, in whatever case.
  std::optional<std::string_view> field(std::string_view name) const;
};

struct HttpClientOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // for a whole call: name, connection, answer
  std::size_t max_head = 65536;
  std::size_t max_fields = 200;
  std::uint64_t max_body = std::uint64_t{16} << 20;
  std::size_t max_kept = 32;  // connections that nobody uses
  std::chrono::nanoseconds keep_time = std::chrono::seconds(30);
  // Makes connections: for "https", for a proxy, for tests. May throw; null: TCP to the first address that answers.
  std::function<std::unique_ptr<Wire>(const HttpOrigin& to, Deadline deadline)> connect = nullptr;
};

struct HttpClientCounts {
  std::uint64_t calls = 0;
  std::uint64_t connections = 0;  // made
  std::uint64_t kept = 0;         // now, not in use
};

class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpReply request(const HttpCall& call);
  HttpReply get(std::string url) { return request({.url = std::move(url)}); }
  HttpReply head(std::string url) { return request({.method = "HEAD", .url = std::move(url)}); }
  HttpReply post(std::string url, std::string type, Bytes body) {
    return request({"POST", std::move(url), {{"Content-Type", std::move(type)}}, body});
  }

  // Closes the connections that are kept.
  void forget();
  HttpClientCounts counts() const;

 private:
  std::unique_ptr<detail::HttpClientCore> core_;
};

// The parts of "http://host:port/path?query#fragment"; throws HttpError (bad_request).
struct HttpUrl {
  HttpOrigin origin;
  std::string authority;  // for Host
  std::string target;     // path and query, at least "/"
};
HttpUrl parse_http_url(std::string_view url);

}  // namespace weft::inline v0

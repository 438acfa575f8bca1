// SPDX-License-Identifier: MIT
// What: an HTTP/1.1 server (HTTP/1.0 too). A handler is called for each request, in the task of its connection.
//
//   weft::HttpServer server(weft::TcpListener::bind(weft::Address::any(8080)), {},
//                           [](weft::HttpRequest& request, weft::HttpResponse& response) {
//                             response.field("Content-Type", "text/plain").send("hello\n");
//                           });
//   server.run();
//
// Connections are kept alive. Requests that come in one piece (pipelining) are answered in order, their answers go out
// by one write, once nothing complete is left to be handled; so an answer waits for the handlers of the requests that
// came with it (HttpServerOptions::gather).
// What is no proper request is answered (400, 408, 413, 414, 417, 431, 501, 505) and the connection closed. What a
// handler throws is answered by 500, or by the status of an HttpError; if the answer has begun, the connection ends.
// Once a stop is asked for, answers say "Connection: close".
// Threads: a request and its response belong to the handler, one task at a time, until it returns.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/http.hpp"
#include "weft/server.hpp"

namespace weft::inline v0 {

namespace detail {
class HttpSession;
struct HttpServerCore;
}  // namespace detail

// Views stay until the handler returns.
class HttpRequest {
 public:
  std::string_view method() const { return method_; }
  std::string_view target() const { return target_; }  // as it came
  std::string_view path() const;                       // of the target, not decoded: "/a%20b" of "/a%20b?c=d"
  std::string_view query() const;                      // "c=d"
  std::string_view host() const;                       // who is asked for: of the target, or Host; "" if neither says
  HttpVersion version() const { return version_; }
  const HttpFields& fields() const { return *fields_; }
  std::optional<std::string_view> field(std::string_view name) const { return fields_->find(name); }
  Address peer() const;

  // Of the body: how long it will be, if that was told. A handler need not read it.
  std::optional<std::uint64_t> content_length() const;
  // At least a byte, or 0: the end. Throws HttpError, which it may let go: 400, 408, 413.
  std::size_t read(weft::Room room);
  // All that is left of it.
  std::string body();

 private:
  friend class detail::HttpSession;
  explicit HttpRequest(detail::HttpSession& session) : session_(session) {}

  detail::HttpSession& session_;
  const HttpFields* fields_ = nullptr;
  std::string_view method_;
  std::string_view target_;
  HttpVersion version_ = HttpVersion::http_1_1;
};

// By one send(); or in pieces, by write(). Without either: an empty body.
class HttpResponse {
 public:
  HttpResponse& status(int code);  // 200 to 999; 200 unless told
  // Throws std::invalid_argument for what would break the message, and for the fields that are the server's own:
  // Connection, Content-Length, Date, Transfer-Encoding.
  HttpResponse& field(std::string_view name, std::string_view value);
  // This is the last one of the connection.
  HttpResponse& close();

  // The whole body.
  void send(Bytes body);
  // The body will have this length; what is written must add up to it. Without: chunked.
  HttpResponse& content_length(std::uint64_t bytes);
  // Some of it. Throws HttpError if the client is gone, or too slow.
  void write(Bytes piece);
  // What was written goes out now.
  void flush();

  bool begun() const { return stage_ != Stage::open; }

 private:
  friend class detail::HttpSession;
  enum class Stage : std::uint8_t { open, length, chunked, until_close, done };
  explicit HttpResponse(detail::HttpSession& session) : session_(session) {}

  detail::HttpSession& session_;
  Stage stage_ = Stage::open;
  bool close_ = false;
  bool has_length_ = false;
  int status_ = 200;
  std::uint64_t left_ = 0;  // of content_length
};

using HttpHandler = std::function<void(HttpRequest&, HttpResponse&)>;

struct HttpServerOptions {
  ServerOptions server = {};
  std::size_t max_head = 16384;                     // bytes of request line and fields: 414, 431
  std::size_t max_fields = 100;                     // 431
  std::uint64_t max_body = std::uint64_t{1} << 20;  // 413
  std::uint64_t max_drain = 65536;  // of a body that the handler did not read; more: the connection is closed
  std::chrono::nanoseconds idle_time = std::chrono::seconds(60);  // between requests
  std::chrono::nanoseconds head_time = std::chrono::seconds(10);  // from the first byte of a head to its last: 408
  std::chrono::nanoseconds body_time = std::chrono::seconds(10);  // for a body (408), and for a write, and
  std::uint64_t min_rate = 4096;                                  // a second more for each so many bytes of it
  std::size_t gather = 65536;        // answers to pipelined requests are held back until they are so large
  bool date = true;                  // send Date
  std::time_t (*clock)() = nullptr;  // for Date; null: the system's
};

struct HttpCounts {
  std::uint64_t requests = 0;  // handled
  std::uint64_t refused = 0;   // that were no proper requests
  std::uint64_t failed = 0;    // by what a handler threw
};

// Serves HTTP on one connection until it ends; for a Server of another kind. `wire`: what carries the bytes, which may
// be something on top of the connection.
class HttpService {
 public:
  HttpService(const HttpServerOptions& options, HttpHandler handler);
  ~HttpService();
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  void serve(Connection& connection) { serve(connection, connection); }
  void serve(Wire& wire, Connection& connection);
  void serve(Wire& wire);  // that no server has
  HttpCounts counts() const;

 private:
  std::unique_ptr<detail::HttpServerCore> core_;
};

class HttpServer {
 public:
  HttpServer(TcpListener listener, const HttpServerOptions& options, HttpHandler handler)
      : service_(options, std::move(handler)),
        server_(std::move(listener), options.server, [this](Connection& connection) { service_.serve(connection); }) {}
  HttpServer(UnixListener listener, const HttpServerOptions& options, HttpHandler handler)
      : service_(options, std::move(handler)),
        server_(std::move(listener), options.server, [this](Connection& connection) { service_.serve(connection); }) {}

  Address local() const { return server_.local(); }
  void run() { server_.run(); }
  void stop(std::chrono::nanoseconds grace = std::chrono::seconds(30)) { server_.stop(grace); }
  ServerCounts counts() const { return server_.counts(); }
  HttpCounts http_counts() const { return service_.counts(); }

 private:
  HttpService service_;
  Server server_;
};

}  // namespace weft::inline v0

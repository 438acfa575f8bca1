// SPDX-License-Identifier: MIT
// What: one connection of an HTTP server: heads in, handlers called, answers out.
//
// Invariants:
//   [SESSION-1] Whatever waits for the client has sent before all that was answered.
//   [SESSION-2] After an answer that leaves it open where the next request begins, the connection ends.
//   [SESSION-3] Behind a write that was cut short nothing is written.
// Threads: the task of the connection.
#pragma once

#include <string>

#include "net/http_body.hpp"
#include "net/http_date.hpp"
#include "net/http_input.hpp"
#include "net/http_parser.hpp"
#include "weft/detail/seam.hpp"
#include "weft/http_server.hpp"

namespace weft::inline v0::detail {

struct HttpServerCore {
  HttpServerOptions options;
  HttpHandler handler;
  seam::Atomic<std::uint64_t> requests{0};
  seam::Atomic<std::uint64_t> refused{0};
  seam::Atomic<std::uint64_t> failed{0};
};

class HttpSession final : private HttpBody::Waiter {
 public:
  // `connection`: null if no server has it.
  HttpSession(Wire& wire, Connection* connection, HttpServerCore& core);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  ~HttpSession() override = default;

  void run();

 private:
  friend class weft::HttpRequest;
  friend class weft::HttpResponse;
  enum class Head : std::uint8_t { came, refused, end };

  Head read_head();
  Head wait_for_head(Deadline& head_end);
  bool begin_request();
  bool serve_one();
  void call_handler();
  void end_badly(const std::exception_ptr& failure);
  void refuse(int status, const char* why);
  void answer_plainly(int status, std::string_view why);
  void linger();
  bool is_torn() const;
  bool ends() const { return connection_ != nullptr && connection_->stopping(); }

  // `whole`: the answer ends with the body that follows.
  void put_head(HttpResponse::Stage stage, std::uint64_t length, bool whole);
  bool has_no_body() const;
  bool will_close(bool whole) const;
  void put_chunk(Bytes piece);
  void finish();
  void flush();
  void write_out(Bytes piece, std::string_view after);
  void before_wait() override;

  Wire& wire_;
  Connection* connection_;
  HttpServerCore& core_;
  const HttpServerOptions& options_;
  HttpInput input_;
  HeadParser parser_;
  HttpBody body_;
  HttpRequest request_;
  HttpResponse response_;
  HttpDate date_;
  std::string out_;        // answers that were not sent yet
  std::string fields_;     // of the answer under way
  bool keep_ = true;       // the connection, after the request under way
  bool says_end_ = false;  // the end of the connection is that of an answer
  bool broken_ = false;    // [SESSION-3]: a write was cut short, by the wire or by a scope of the handler's
  bool continue_due_ = false;
  bool unread_ = false;  // the client may still be sending what nobody will read
};

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
// What: one connection of an HTTP client: a question out, its answer in.
// Threads: one call at a time.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "net/http_body.hpp"
#include "net/http_input.hpp"
#include "net/http_parser.hpp"
#include "weft/http_client.hpp"

namespace weft::inline v0::detail {

class HttpLink {
 public:
  HttpLink(std::unique_ptr<Wire> wire, const HttpClientOptions& options);
  ~HttpLink() { (void)wire_->close(); }
  HttpLink(const HttpLink&) = delete;
  HttpLink& operator=(const HttpLink&) = delete;

  // The server has not closed it, and has said nothing that it was not asked for.
  bool is_quiet();
  // Throws HttpError, Cancelled, and what the call's own functions throw.
  HttpReply exchange(const HttpCall& call, const HttpUrl& url, Deadline deadline);
  // Of the last exchange, or of one that failed.
  bool reusable() const { return reusable_; }
  bool answered() const { return answered_; }  // something came back

 private:
  void put_head(const HttpCall& call, const HttpUrl& url);
  // The whole question. False, with `failure_`: the wire did not take it.
  bool send(const HttpCall& call, Deadline deadline);
  bool write(Bytes more, std::string_view after, Deadline deadline);
  void send_chunks(const HttpCall& call, Deadline deadline);
  void read_head(Deadline deadline);
  HttpReply read_answer(const HttpCall& call, Deadline deadline);

  std::unique_ptr<Wire> wire_;
  const HttpClientOptions& options_;
  HttpInput input_;
  HeadParser parser_;
  HttpBody body_;
  std::string out_;
  IoResult failure_;  // of sending; the sender's, while it runs beside the reader
  IoResult unsent_;   // the same once it is known: the reader's
  bool reusable_ = false;
  bool answered_ = false;
};

}  // namespace weft::inline v0::detail

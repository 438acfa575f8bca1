// SPDX-License-Identifier: MIT
// Threads: any; nothing changes once it is made.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/tls.hpp"

namespace weft::inline v0::detail {

class TlsContextCore {
 public:
  explicit TlsContextCore(const TlsServerOptions& options);
  explicit TlsContextCore(const TlsClientOptions& options);

  SSL_CTX* get() const { return context_.get(); }
  bool is_server() const { return server_; }
  bool verifies() const { return verify_; }
  const std::string& alpn() const { return alpn_; }

 private:
  TlsContextCore(bool server, const std::vector<std::string>& alpn, TlsVersion minimum);

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::string alpn_;  // as it goes over the wire: each name after its length
  bool server_;
  bool verify_ = false;
};

}  // namespace weft::inline v0::detail

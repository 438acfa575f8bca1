// SPDX-License-Identifier: MIT
#include "tls/context.hpp"

#include <limits>
#include <stdexcept>

#include "tls/queue.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("TLS: " + what + ": " + take_queue("no reason given"));
}

std::string alpn_bytes(const std::vector<std::string>& names) {
  std::string bytes;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > std::numeric_limits<unsigned char>::max())
      throw std::invalid_argument("TLS: a protocol's name has 1 to 255 bytes");
    bytes += static_cast<char>(name.size());
    bytes += name;
  }
  return bytes;
}

const unsigned char* unsigned_bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* of) {
  const std::string& ours = static_cast<const TlsContextCore*>(of)->alpn();
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, unsigned_bytes(ours), static_cast<unsigned>(ours.size()), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

TlsContextCore::TlsContextCore(bool server, const std::vector<std::string>& alpn, TlsVersion minimum)
    : alpn_(alpn_bytes(alpn)), server_(server) {
  clear_queue();
  context_.reset(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (context_ == nullptr) fail("no context");
  const int version = minimum == TlsVersion::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
  if (SSL_CTX_set_min_proto_version(context_.get(), version) != 1) fail("the minimum version");
  (void)SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  (void)SSL_CTX_set_mode(
      context_.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Nobody is there to be asked for a pass phrase; the default asks the terminal, and blocks the worker.
  SSL_CTX_set_default_passwd_cb(context_.get(),
                                [](char* /*into*/, int /*size*/, int /*writes*/, void* /*of*/) { return -1; });
  (void)SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_OFF);
}

TlsContextCore::TlsContextCore(const TlsServerOptions& options) : TlsContextCore(true, options.alpn, options.minimum) {
  if (SSL_CTX_use_certificate_chain_file(context_.get(), options.certificate_file.c_str()) != 1)
    fail("the certificate " + options.certificate_file);
  if (SSL_CTX_use_PrivateKey_file(context_.get(), options.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    fail("the key " + options.key_file);
  if (SSL_CTX_check_private_key(context_.get()) != 1)
    fail("the key " + options.key_file + " is not that of " + options.certificate_file);
  if (!alpn_.empty()) SSL_CTX_set_alpn_select_cb(context_.get(), choose_protocol, this);
}

TlsContextCore::TlsContextCore(const TlsClientOptions& options) : TlsContextCore(false, options.alpn, options.minimum) {
  verify_ = options.verify;
  SSL_CTX_set_verify(context_.get(), verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!options.ca_file.empty()) {
    if (SSL_CTX_load_verify_file(context_.get(), options.ca_file.c_str()) != 1) fail("the roots " + options.ca_file);
  } else if (verify_ && SSL_CTX_set_default_verify_paths(context_.get()) != 1) {
    fail("the system's roots");
  }
  // The one function of OpenSSL that answers 0 for success.
  if (!alpn_.empty() &&
      SSL_CTX_set_alpn_protos(context_.get(), unsigned_bytes(alpn_), static_cast<unsigned>(alpn_.size())) != 0)
    fail("the protocols");
}

}  // namespace detail

TlsContext TlsContext::server(const TlsServerOptions& options) {
  return TlsContext(std::make_shared<const detail::TlsContextCore>(options));
}

TlsContext TlsContext::client(const TlsClientOptions& options) {
  return TlsContext(std::make_shared<const detail::TlsContextCore>(options));
}

}  // namespace weft::inline v0

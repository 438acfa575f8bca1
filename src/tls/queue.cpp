// SPDX-License-Identifier: MIT
#include "tls/queue.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <cerrno>

namespace weft::inline v0 {

const char* to_string(TlsFault fault) {
  switch (fault) {
    case TlsFault::none:
      return "none";
    case TlsFault::not_tls:
      return "not_tls";
    case TlsFault::protocol:
      return "protocol";
    case TlsFault::certificate:
      return "certificate";
    case TlsFault::refused:
      return "refused";
    case TlsFault::truncated:
      return "truncated";
  }
  return "?";
}

namespace detail {
namespace {

std::string words_of(unsigned long code, const char* otherwise) {
  if (code == 0) return otherwise;
  if (const char* reason = ERR_reason_error_string(code)) return reason;
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

bool is_no_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST ||
         reason == SSL_R_UNKNOWN_PROTOCOL;
}

}  // namespace

void clear_queue() noexcept {
  ERR_clear_error();
}

std::string take_queue(const char* otherwise) {
  std::string words = words_of(ERR_peek_error(), otherwise);
  ERR_clear_error();
  return words;
}

TlsFailure truncated_failure(bool shaken) {
  return {TlsFault::truncated, ENODATA,
          shaken ? "TLS: the connection ended without close_notify" : "TLS: the connection ended in the handshake"};
}

TlsFailure take_failure(const SSL* ssl, bool shaken) {
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const bool of_ssl = code != 0 && ERR_GET_LIB(code) == ERR_LIB_SSL;
  const std::string words = take_queue("no reason given");
  if (of_ssl && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return {
        TlsFault::certificate, EKEYREJECTED,
        std::string("TLS: the certificate is refused: ") + X509_verify_cert_error_string(SSL_get_verify_result(ssl))};
  if (of_ssl && reason >= SSL_AD_REASON_OFFSET)
    return {TlsFault::refused, ECONNABORTED, "TLS: refused by the other side: " + words};
  if (of_ssl && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return truncated_failure(shaken);
  if (of_ssl && !shaken && is_no_tls(reason))
    return {TlsFault::not_tls, EPROTO, "TLS: the other side does not speak TLS: " + words};
  return {TlsFault::protocol, EPROTO, "TLS: " + words};
}

}  // namespace detail
}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// What: OpenSSL's error queue, which belongs to the thread. Empty before a call that may fill it, emptied right after.
// Threads: by the one that has made the call, with no suspension between [TLS-1].
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "weft/tls.hpp"

namespace weft::inline v0::detail {

void clear_queue() noexcept;
// The oldest entry in words, or `otherwise`; then it is empty.
std::string take_queue(const char* otherwise);
// What a failed call on `ssl` means; `shaken`: the handshake is over. Then it is empty.
TlsFailure take_failure(const SSL* ssl, bool shaken);

TlsFailure truncated_failure(bool shaken);

}  // namespace weft::inline v0::detail

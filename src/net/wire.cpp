// SPDX-License-Identifier: MIT
#include "weft/wire.hpp"

#include <system_error>
#include <utility>

namespace weft::inline v0 {

TcpWire::TcpWire(TcpStream stream) : stream_(std::move(stream)) {
  try {
    stream_.no_delay();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): a wish; a reset connection says so when read
  }
}

IoResult TcpWire::shutdown_write(Deadline /*deadline*/) {
  try {
    stream_.shutdown_write();
  } catch (const std::system_error& error) {
    return IoResult::failed(error.code().value());
  }
  return IoResult();
}

IoResult TcpWire::reset() noexcept {
  try {
    stream_.reset_on_close();
  } catch (...) {  // NOLINT(bugprone-empty-catch): closed, or gone by itself; or an interceptor throws
  }
  return close();
}

Address TcpWire::peer() const {
  try {
    return stream_.peer();
  } catch (const std::system_error&) {
    return Address();
  }
}

}  // namespace weft::inline v0

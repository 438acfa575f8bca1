// SPDX-License-Identifier: MIT
#include "io/engine.hpp"

namespace weft::inline v0::detail {

std::unique_ptr<Engine> make_uring_engine(RuntimeCore&, long& error) {
  error = -ENOSYS;
  return nullptr;
}

}  // namespace weft::inline v0::detail

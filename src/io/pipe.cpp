// SPDX-License-Identifier: MIT
#include "weft/pipe.hpp"

#include <fcntl.h>
#include <signal.h>

#include "base/sys.hpp"
#include "io/no_sigpipe.hpp"

namespace weft::inline v0 {
namespace detail {

void ignore_sigpipe() {
  static const bool once = [] {
    struct sigaction now{};
    if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
      now.sa_handler = SIG_IGN;
      (void)sigaction(SIGPIPE, &now, nullptr);
    }
    return true;
  }();
  (void)once;
}

}  // namespace detail

Pipe make_pipe() {
  detail::ignore_sigpipe();
  int ends[2] = {-1, -1};
  const long result = detail::sys::pipe(ends, O_CLOEXEC | O_NONBLOCK);
  if (detail::sys::is_error(result)) detail::throw_os_error(detail::sys::error_of(result), "make_pipe");
  Stream reader(ends[0], false);
  return {std::move(reader), Stream(ends[1], false)};
}

}  // namespace weft::inline v0

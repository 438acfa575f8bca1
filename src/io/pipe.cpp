// SPDX-License-Identifier: MIT
#include "weft/pipe.hpp"

#include <signal.h>

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

namespace {

// Of a descriptor that does not wait by itself.
class PipeEnd : public Stream {
 public:
  explicit PipeEnd(int fd) : Stream(detail::Descriptor(fd, detail::fd_stream), false) {}
};

}  // namespace

Pipe make_pipe() {
  detail::ignore_sigpipe();
  int ends[2] = {-1, -1};
  IoRequest request;
  request.op = IoOp::pair;
  request.data = ends;
  (void)detail::checked(perform_io(request), "make_pipe");
  PipeEnd reader(ends[0]);
  return {std::move(reader), PipeEnd(ends[1])};
}

}  // namespace weft::inline v0

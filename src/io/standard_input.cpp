// SPDX-License-Identifier: MIT
#include "weft/standard_input.hpp"

#include <unistd.h>

#include "io/deadline.hpp"

namespace weft::inline v0 {

namespace {

// Of nobody's issue: an engine asks first whether it is ready.
IoResult read_it(Room room, Deadline deadline, bool quiet) {
  if (room.size == 0) return IoResult();
  IoRequest request;
  request.op = IoOp::read;
  request.fd = STDIN_FILENO;
  request.data = room.data;
  request.size = room.size;
  request.deadline = deadline;
  request.quiet = quiet;
  return perform_io(request);
}

}  // namespace

std::size_t StandardInput::read_for(Room room, std::chrono::nanoseconds span) const {
  return read_until(room, detail::deadline_for(span));
}

std::size_t StandardInput::read_until(Room room, Deadline deadline) const {
  return detail::checked(read_it(room, deadline, false), "read");
}

IoResult StandardInput::read_result(Room room, Deadline deadline) const {
  return read_it(room, deadline, true);
}

}  // namespace weft::inline v0

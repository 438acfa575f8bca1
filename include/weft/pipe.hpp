// SPDX-License-Identifier: MIT
// What: pipes. A write into one that nobody reads is EPIPE, not a signal: making the first pipe sets SIGPIPE to be
// ignored, unless the program has a handler of its own.
#pragma once

#include "weft/stream.hpp"

namespace weft::inline v0 {

struct Pipe {
  Stream reader;
  Stream writer;
};

Pipe make_pipe();

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// What: where an error came from, across fibers. Inside a handler, trace() gives the frames of every fiber that the
// exception passed through, innermost first, beginning with the frames that threw it.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace weft::inline v0 {

class Fiber;

struct Frame {
  const void* address = nullptr;
};

// A frame with names, as far as the program has symbols and debug information. Inlined calls are frames of their own.
struct ResolvedFrame {
  const void* address = nullptr;
  std::string function;
  std::string file;
  int line = 0;
};

// The frames of one fiber, innermost first.
struct TracePart {
  std::uint64_t fiber = 0;  // id; 0: a thread's own stack
  std::string name;
  std::vector<Frame> frames;
};

struct Trace {
  std::vector<TracePart> parts;  // innermost fiber first
  bool empty() const { return parts.empty(); }
};

// Of the exception being handled, plus the handler's own stack as the last part. Empty outside a handler.
Trace trace();
// Errors that happened beside the one being handled (siblings in a nursery, for instance).
std::vector<std::exception_ptr> other_errors();
// Where a suspended fiber stands: the deepest pending child first. A running fiber: as far as its callers.
Trace stack_of(const Fiber& fiber);
// Of the caller.
Trace stack_here();

std::vector<ResolvedFrame> resolve(const TracePart& part);
// One line a frame: "  at function (file:line)", with a line "in fiber 3 "name"" before each part.
std::string to_string(const Trace& trace);

}  // namespace weft::inline v0

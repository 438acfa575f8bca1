// SPDX-License-Identifier: MIT
// What: a descriptor that is ready as a case of select (weft/select.hpp).
//
//   auto got = weft::select(op::readable(stream), op::recv(orders), op::timeout(1s));
//
//   op::readable(stream), op::readable(fd)    something to read, or the end, or an error to be told by the read
//   op::writable(stream), op::writable(fd)    room to write, or an error to be told by the write
//                                             what it is ready for: IoReady
//
// Readiness is a hint, as ever: another reader may be first. Where the answer is not there at once, a task asks for it
// (IoOp::poll), so it passes by those who intercept, by either engine, and by the simulator; the op owns that task,
// which goes on over several selects, and ends it when it is destroyed. Threads: as every op: one task at a time, and a
// task of a runtime only. What it names must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/future_op.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0::op {

class Ready {
 public:
  using Result = std::uint32_t;
  static constexpr std::size_t cases = 1;

  explicit Ready(const IoRequest& poll);
  Ready(Ready&&) noexcept;
  ~Ready();

  std::size_t size() const { return 1; }
  void collect(detail::SelectCase** into);
  Result result(std::size_t);

 private:
  struct Answer;
  IoRequest poll_;
  std::unique_ptr<Answer> answer_;
};

Ready ready(int fd, std::uint32_t for_what);
inline Ready readable(int fd) {
  return ready(fd, io_readable);
}
inline Ready writable(int fd) {
  return ready(fd, io_writable);
}

Ready ready(const Stream& stream, std::uint32_t for_what);
inline Ready readable(const Stream& stream) {
  return ready(stream, io_readable);
}
inline Ready writable(const Stream& stream) {
  return ready(stream, io_writable);
}

}  // namespace weft::inline v0::op

// SPDX-License-Identifier: MIT
// What: bytes in order, through a socket or a pipe. Two tasks may use one stream at the same time, one to read and one
// to write; close() by a third ends both with EBADF.
//
//   char room[4096];
//   while (const std::size_t n = stream.read(room)) stream.write_all({room, n});
//
// Verbs: x() waits and throws std::system_error, or Cancelled; x_for and x_until limit the wait (errc::timed_out);
// x_result throws nothing, a cancel is ECANCELED there. What was asked to stop and has moved bytes says how many.
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "weft/bytes.hpp"
#include "weft/detail/descriptor.hpp"

namespace weft::inline v0 {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline never = Deadline::max();

class Stream {
 public:
  Stream() = default;
  // Takes over a descriptor, which becomes non-blocking, or a socket, which recv and send serve.
  Stream(int fd, bool socket);

  bool is_open() const { return descriptor_.is_open(); }
  int fd() const { return descriptor_.fd(); }
  void close();  // EBADF: it was closed before
  IoResult close_result() noexcept { return descriptor_.close(); }
  // For perform_io: a request of one's own about this stream, whatever becomes of its descriptor's number.
  IoRequest request(IoOp op) const { return descriptor_.request(op); }

  // At least one byte, unless there is no room; 0: the end.
  std::size_t read(Room room) { return read_until(room, never); }
  std::size_t read_for(Room room, std::chrono::nanoseconds span);
  std::size_t read_until(Room room, Deadline deadline);
  IoResult read_result(Room room, Deadline deadline = never);

  // Some of it: how many bytes.
  std::size_t write(Bytes bytes) { return write_until(bytes, never); }
  std::size_t write_for(Bytes bytes, std::chrono::nanoseconds span);
  std::size_t write_until(Bytes bytes, Deadline deadline);
  IoResult write_result(Bytes bytes, Deadline deadline = never);

  // All of it.
  void write_all(Bytes bytes) { write_all_until(bytes, never); }
  void write_all_for(Bytes bytes, std::chrono::nanoseconds span);
  void write_all_until(Bytes bytes, Deadline deadline);
  // `written`: how much of it, whatever the answer is.
  IoResult write_all_result(Bytes bytes, std::size_t& written, Deadline deadline = never);

  // Exactly this much; std::errc::no_message_available (ENODATA) if the stream ends before.
  void read_exactly(Room room) { read_exactly_until(room, never); }
  void read_exactly_for(Room room, std::chrono::nanoseconds span);
  void read_exactly_until(Room room, Deadline deadline);

  // Several pieces by one call; some of it, and all of it.
  std::size_t writev(std::span<const Bytes> pieces, Deadline deadline = never);
  void writev_all(std::span<const Bytes> pieces, Deadline deadline = never);
  // `written`: how much of it, whatever the answer is.
  IoResult writev_all_result(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline = never);
  std::size_t readv(std::span<const Room> rooms, Deadline deadline = never);

 protected:
  Stream(detail::Descriptor descriptor, bool socket) : descriptor_(std::move(descriptor)), socket_(socket) {}
  detail::Descriptor& descriptor() { return descriptor_; }
  const detail::Descriptor& descriptor() const { return descriptor_; }

 private:
  IoRequest transfer(bool reads, void* data, std::size_t size, Deadline deadline, bool quiet) const;
  IoResult write_pieces(std::span<const Bytes> pieces, Deadline deadline, bool quiet);
  IoResult write_all_pieces(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline, bool quiet);

  detail::Descriptor descriptor_;
  bool socket_ = false;
};

}  // namespace weft::inline v0

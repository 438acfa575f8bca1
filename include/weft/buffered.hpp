// SPDX-License-Identifier: MIT
// What: a stream with a buffer on each side: lines and exact sizes to read, small pieces to write.
//
//   weft::Buffered in(std::move(stream));
//   while (const auto line = in.read_until('\n')) in.write_all(*line + "\n"), in.flush();
//
// Threads: one at a time, but for close() of the stream.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/stream.hpp"

namespace weft::inline v0 {

class Buffered {
 public:
  static constexpr std::size_t usual_room = 16384;

  // Keeps the stream's descriptor; what a derived class can do beyond a stream is asked before.
  explicit Buffered(Stream&& stream, std::size_t room = usual_room);

  Stream& stream() { return stream_; }
  // For all that follows; never by default.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }

  // Without the mark; nullopt: the end, and nothing before it. What stands before the end without a mark is returned as
  // it is. Longer than `most`: EMSGSIZE, and nothing is taken.
  std::optional<std::string> read_until(char mark, std::size_t most = std::size_t{1} << 20);
  std::optional<std::string> read_until(std::string_view mark, std::size_t most = std::size_t{1} << 20);
  // ENODATA: the stream ends before.
  void read_exactly(Room room);
  std::size_t read(Room room);  // at least a byte, or 0: the end
  std::size_t buffered() const { return end_ - begin_; }

  void write_all(Bytes bytes);  // into the buffer; what does not fit goes on to the stream
  void flush();

 private:
  bool fill();  // false: the end
  std::string take(std::size_t count, std::size_t skipped);

  Stream stream_;
  Deadline deadline_ = never;
  std::vector<char> in_;
  std::size_t begin_ = 0;  // of what is buffered in in_
  std::size_t end_ = 0;
  std::vector<char> out_;
  std::size_t pending_ = 0;  // in out_
};

}  // namespace weft::inline v0

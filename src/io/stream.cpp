// SPDX-License-Identifier: MIT
#include "weft/stream.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys.hpp"
#include "io/deadline.hpp"
#include "io/kernel.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

constexpr std::size_t most_pieces = 64;  // by one call

FdKind kind_of(int fd, bool socket) {
  return socket && is_tcp(fd) ? fd_tcp : fd_stream;
}

}  // namespace

Stream::Stream(int fd, bool socket) : descriptor_(fd, kind_of(fd, socket)), socket_(socket) {
  if (socket) return;  // each call says that it will not wait
  const long flags = sys::fcntl(fd, F_GETFL, 0);
  long result = flags;
  if (!sys::is_error(flags) && (flags & O_NONBLOCK) == 0) result = sys::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  if (sys::is_error(result)) throw_os_error(sys::error_of(result), "Stream");
}

void Stream::close() {
  (void)checked(descriptor_.close(), "close");
}

IoRequest Stream::transfer(bool reads, void* data, std::size_t size, Deadline deadline, bool quiet) const {
  IoRequest request = descriptor_.request(socket_ ? reads ? IoOp::recv : IoOp::send : reads ? IoOp::read : IoOp::write);
  request.data = data;
  request.size = size;
  request.deadline = deadline;
  request.quiet = quiet;
  return request;
}

std::size_t Stream::read_for(Room room, std::chrono::nanoseconds span) {
  return read_until(room, deadline_for(span));
}

std::size_t Stream::read_until(Room room, Deadline deadline) {
  if (room.size == 0) return 0;
  IoRequest request = transfer(true, room.data, room.size, deadline, false);
  return checked(perform_io(request), "read");
}

IoResult Stream::read_result(Room room, Deadline deadline) {
  if (room.size == 0) return IoResult();
  IoRequest request = transfer(true, room.data, room.size, deadline, true);
  return perform_io(request);
}

std::size_t Stream::write_for(Bytes bytes, std::chrono::nanoseconds span) {
  return write_until(bytes, deadline_for(span));
}

std::size_t Stream::write_until(Bytes bytes, Deadline deadline) {
  if (bytes.size == 0) return 0;
  IoRequest request = transfer(false, const_cast<void*>(bytes.data), bytes.size, deadline, false);
  return checked(perform_io(request), "write");
}

IoResult Stream::write_result(Bytes bytes, Deadline deadline) {
  if (bytes.size == 0) return IoResult();
  IoRequest request = transfer(false, const_cast<void*>(bytes.data), bytes.size, deadline, true);
  return perform_io(request);
}

void Stream::write_all_for(Bytes bytes, std::chrono::nanoseconds span) {
  write_all_until(bytes, deadline_for(span));
}

void Stream::write_all_until(Bytes bytes, Deadline deadline) {
  for (std::size_t done = 0; done < bytes.size;) done += write_until(bytes.from(done), deadline);
}

IoResult Stream::write_all_result(Bytes bytes, std::size_t& written, Deadline deadline) {
  for (written = 0; written < bytes.size;) {
    const IoResult part = write_result(bytes.from(written), deadline);
    if (!part.ok()) return part;
    written += part.count();
  }
  return IoResult(static_cast<long>(written));
}

void Stream::read_exactly_for(Room room, std::chrono::nanoseconds span) {
  read_exactly_until(room, deadline_for(span));
}

void Stream::read_exactly_until(Room room, Deadline deadline) {
  for (std::size_t done = 0; done < room.size;) {
    const std::size_t n = read_until(room.from(done), deadline);
    if (n == 0) throw_os_error(ENODATA, "read_exactly");
    done += n;
  }
}

IoResult Stream::write_pieces(std::span<const Bytes> pieces, Deadline deadline, bool quiet) {
  std::array<IoSlice, most_pieces> slices;
  IoRequest request = transfer(false, nullptr, 0, deadline, quiet);
  for (const Bytes& piece : pieces.first(std::min(pieces.size(), most_pieces)))
    if (piece.size != 0) slices[request.count++] = {const_cast<void*>(piece.data), piece.size};
  if (request.count == 0) return IoResult();
  request.slices = slices.data();
  return perform_io(request);
}

IoResult Stream::write_all_pieces(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline, bool quiet) {
  written = 0;
  std::array<Bytes, most_pieces> left;
  while (!pieces.empty()) {
    const std::size_t count = std::min(pieces.size(), most_pieces);
    std::copy_n(pieces.begin(), count, left.begin());
    std::size_t first = 0;
    for (;;) {
      while (first < count && left[first].size == 0) ++first;
      if (first == count) break;
      const IoResult part = write_pieces(std::span<const Bytes>(left).subspan(first, count - first), deadline, quiet);
      if (!part.ok()) return part;
      std::size_t n = part.count();
      written += n;
      while (n > 0) {
        const std::size_t taken = std::min(n, left[first].size);
        left[first] = left[first].from(taken);
        n -= taken;
        if (left[first].size == 0) ++first;
      }
    }
    pieces = pieces.subspan(count);
  }
  return IoResult(static_cast<long>(written));
}

std::size_t Stream::writev(std::span<const Bytes> pieces, Deadline deadline) {
  return checked(write_pieces(pieces, deadline, false), "writev");
}

void Stream::writev_all(std::span<const Bytes> pieces, Deadline deadline) {
  std::size_t written = 0;
  (void)checked(write_all_pieces(pieces, written, deadline, false), "writev_all");
}

IoResult Stream::writev_all_result(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) {
  if (pieces.size() == 1) return write_all_result(pieces.front(), written, deadline);
  return write_all_pieces(pieces, written, deadline, true);
}

std::size_t Stream::readv(std::span<const Room> rooms, Deadline deadline) {
  std::array<IoSlice, most_pieces> slices;
  IoRequest request = transfer(true, nullptr, 0, deadline, false);
  for (const Room& room : rooms.first(std::min(rooms.size(), most_pieces)))
    if (room.size != 0) slices[request.count++] = {room.data, room.size};
  if (request.count == 0) return 0;
  request.slices = slices.data();
  return checked(perform_io(request), "readv");
}

}  // namespace weft::inline v0

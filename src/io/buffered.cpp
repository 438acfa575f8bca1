// SPDX-License-Identifier: MIT
#include "weft/buffered.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weft::inline v0 {

using namespace detail;

Buffered::Buffered(Stream&& stream, std::size_t room)
    : stream_(std::move(stream)), in_(std::max<std::size_t>(room, 1)), out_(std::max<std::size_t>(room, 1)) {}

bool Buffered::fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == in_.size()) {
    if (begin_ > 0) {
      std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      in_.resize(2 * in_.size());
    }
  }
  const std::size_t n = stream_.read_until(Room(in_.data() + end_, in_.size() - end_), deadline_);
  end_ += n;
  return n != 0;
}

std::string Buffered::take(std::size_t count, std::size_t skipped) {
  std::string text(in_.data() + begin_, count);
  begin_ += count + skipped;
  return text;
}

std::optional<std::string> Buffered::read_until(char mark, std::size_t most) {
  return read_until(std::string_view(&mark, 1), most);
}

std::optional<std::string> Buffered::read_until(std::string_view mark, std::size_t most) {
  std::size_t searched = 0;
  for (;;) {
    const std::string_view there(in_.data() + begin_, end_ - begin_);
    const std::size_t at = there.find(mark, searched);
    if (std::min(at, there.size()) > most) throw_os_error(EMSGSIZE, "read_until");
    if (at != std::string_view::npos) return take(at, mark.size());
    searched = there.size() - std::min(there.size(), mark.size() - std::min<std::size_t>(mark.size(), 1));
    if (!fill()) {
      if (begin_ == end_) return std::nullopt;
      return take(end_ - begin_, 0);
    }
  }
}

std::size_t Buffered::read(Room room) {
  if (room.size == 0) return 0;
  if (begin_ == end_) {
    if (room.size >= in_.size()) return stream_.read_until(room, deadline_);
    if (!fill()) return 0;
  }
  const std::size_t n = std::min(room.size, end_ - begin_);
  std::memcpy(room.data, in_.data() + begin_, n);
  begin_ += n;
  return n;
}

void Buffered::read_exactly(Room room) {
  for (std::size_t done = 0; done < room.size;) {
    const std::size_t n = read(room.from(done));
    if (n == 0) throw_os_error(ENODATA, "read_exactly");
    done += n;
  }
}

void Buffered::write_all(Bytes bytes) {
  if (bytes.size <= out_.size() - pending_) {
    if (bytes.size != 0) std::memcpy(out_.data() + pending_, bytes.data, bytes.size);
    pending_ += bytes.size;
    return;
  }
  const std::array<Bytes, 2> pieces{Bytes(out_.data(), std::exchange(pending_, 0)), bytes};
  stream_.writev_all(pieces, deadline_);
}

void Buffered::flush() {
  if (pending_ != 0) stream_.write_all_until(Bytes(out_.data(), std::exchange(pending_, 0)), deadline_);
}

}  // namespace weft::inline v0

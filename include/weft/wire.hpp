// SPDX-License-Identifier: MIT
// What: bytes to and from one other side, whatever carries them: what a protocol (HTTP) runs over, so that it need not
// know whether the bytes are bare TCP (TcpWire), encrypted, or made up by a test.
//
// Verbs throw nothing that the world causes: errors are answers, as in Stream::x_result; a cancel is ECANCELED, and is
// raised at the caller's next suspension point. What was asked to stop and has moved bytes says how many.
// Threads: one reader and one writer at the same time; close any, which ends both with EBADF.
#pragma once

#include <cstddef>
#include <span>

#include "weft/address.hpp"
#include "weft/bytes.hpp"
#include "weft/stream.hpp"
#include "weft/tcp.hpp"

namespace weft::inline v0 {

class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  // At least one byte, unless there is no room; 0: the end, said by the other side.
  virtual IoResult read(Room room, Deadline deadline) = 0;
  // All of it, by as few calls as possible. `written`: how much of it, whatever the answer is.
  virtual IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) = 0;
  // Tells the other side that no more will come; reading goes on.
  virtual IoResult shutdown_write(Deadline deadline) = 0;
  // EBADF: it was closed before.
  virtual IoResult close() noexcept = 0;
  // Closes it so that the other side cannot take this for the end of what was said: TCP's reset. Where a plain close
  // is no end either (TLS) that is enough.
  virtual IoResult reset() noexcept { return close(); }
  // Where the other side is; empty: it has no address, or is gone.
  virtual Address peer() const = 0;

  IoResult write_bytes(Bytes bytes, std::size_t& written, Deadline deadline) {
    return write_all(std::span<const Bytes>(&bytes, 1), written, deadline);
  }
};

class TcpWire final : public Wire {
 public:
  // Small writes are not held back (TCP_NODELAY): who writes through a wire says all it has by one call.
  explicit TcpWire(TcpStream stream);

  IoResult read(Room room, Deadline deadline) override { return stream_.read_result(room, deadline); }
  IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) override {
    return stream_.writev_all_result(pieces, written, deadline);
  }
  IoResult shutdown_write(Deadline deadline) override;
  IoResult close() noexcept override { return stream_.close_result(); }
  IoResult reset() noexcept override;
  Address peer() const override;

  TcpStream& stream() { return stream_; }

 private:
  TcpStream stream_;
};

}  // namespace weft::inline v0

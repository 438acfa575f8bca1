// SPDX-License-Identifier: MIT
// What: a listener with a task per connection, with limits and an orderly end.
//
//   weft::Server server(weft::TcpListener::bind(weft::Address::any(7000)), {.max_connections = 1000},
//                       [](weft::Connection& client) { talk(client); });
//   nursery.start([&] { signals.next(); server.stop(10s); });
//   server.run();
//
// Invariants:
//   [SERVE-1] Never more than max_connections at once. Those beyond wait in the kernel's queue, none is dropped.
//   [SERVE-2] No error of accept ends the server but that its listener is gone. Where there are no descriptors or no
//             memory it pauses; it does not spin.
//   [SERVE-3] What a handler throws ends its connection, is counted and told, and nothing else. A connection for which
//             there is no memory or no stack is closed, counted, and told as ENOMEM.
//   [SERVE-4] stop(grace): no new connection; one that rests is ended, one that works may go on until the grace is
//             over, and is cancelled then. run() returns after the last one has ended.
// Threads: stop and counts any; run one task, once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "weft/unix_socket.hpp"
#include "weft/wire.hpp"

namespace weft::inline v0 {

namespace detail {
struct ServerCore;
struct ConnectionCore;
}  // namespace detail

// One that was accepted, as its handler sees it: a wire whose waits end with ETIMEDOUT after the server's idle time.
// It is closed when the handler returns.
class Connection final : public Wire {
 public:
  IoResult read(weft::Room room, Deadline deadline) override;
  IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) override;
  IoResult shutdown_write(Deadline deadline) override;
  IoResult close() noexcept override;
  IoResult reset() noexcept override;
  Address peer() const override;

  // Nothing is under way that a stop should wait for, until work(): a stop in between ends the read that waits, as if
  // the other side had said its end. False: the server stops already; what has come by now can be read, nothing more.
  bool rest();
  // Something is. False: the server stops; this is the last piece of work.
  bool work();
  bool stopping() const;

  explicit Connection(detail::ConnectionCore& core) : core_(core) {}

 private:
  detail::ConnectionCore& core_;
};

// Something that went wrong and was survived.
struct ServerTrouble {
  Address peer;              // empty: of accept
  int os_error = 0;          // of accept; ENOMEM, too, for one or some that were refused (ServerCounts)
  std::exception_ptr error;  // what a handler threw
};

struct ServerOptions {
  std::uint32_t max_connections = 10'000;
  std::chrono::nanoseconds idle = std::chrono::nanoseconds::max();      // for each single wait of a connection
  std::chrono::nanoseconds max_pause = std::chrono::milliseconds(100);  // between attempts to accept, after errors
  std::function<void(const ServerTrouble&)> on_trouble = nullptr;       // in its task, or run()'s; must not throw
};

struct ServerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;
  std::uint64_t failed = 0;         // by what their handler threw, or refused
  std::uint64_t cut = 0;            // cancelled at the end of the grace
  std::uint64_t accept_errors = 0;  // survived
  std::uint64_t full = 0;           // times that nobody was accepted because of max_connections
  std::uint64_t refused = 0;        // accepted and closed at once: no memory or no stack for them
};

class Server {
 public:
  using Handler = std::function<void(Connection&)>;

  Server(TcpListener listener, ServerOptions options, Handler handler);
  // Its path stays when the server has ended.
  Server(UnixListener listener, ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Address local() const;
  // Serves until stop(), or until the listener fails for good: then it serves who is there, and throws
  // std::system_error.
  void run();
  // Again: the shorter grace holds. Does not wait.
  void stop(std::chrono::nanoseconds grace = std::chrono::seconds(30));
  bool stopping() const;
  ServerCounts counts() const;

 private:
  std::unique_ptr<detail::ServerCore> core_;
};

}  // namespace weft::inline v0

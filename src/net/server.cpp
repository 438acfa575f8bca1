// SPDX-License-Identifier: MIT
// Relaxed: counters that nobody draws conclusions from; a connection's state decides alone.
#include "weft/server.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/list.hpp"
#include "net/socket.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/runtime_error.hpp"
#include "weft/scope.hpp"
#include "weft/semaphore.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"

namespace weft::inline v0 {
namespace detail {

// working <-> resting, by the connection's task; from both to told, by who stops the server.
enum class Activity : std::uint8_t { working, resting, told };

struct ConnectionCore : ListHook<>, std::enable_shared_from_this<ConnectionCore> {
  ConnectionCore(ServerCore& its_server, TcpStream stream) : server(its_server), wire(std::move(stream)) {}
  void end_reading() {
    try {
      wire.stream().shutdown_read();
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): it is gone by itself
    }
  }

  ServerCore& server;
  TcpWire wire;
  seam::Atomic<Activity> activity{Activity::working};
};

class Seat;

struct ServerCore {
  ServerCore(TcpListener its_listener, ServerOptions its_options, Server::Handler its_handler)
      : listener(std::move(its_listener)),
        options(std::move(its_options)),
        handler(std::move(its_handler)),
        seats(std::max(options.max_connections, 1U)) {
    options.max_pause = std::max<std::chrono::nanoseconds>(options.max_pause, std::chrono::milliseconds(1));  // no spin
  }

  // --- Constant.
  TcpListener listener;
  ServerOptions options;
  Server::Handler handler;

  Semaphore seats;
  SyncEvent called;  // run() has something to do: to stop, or to tell of those who were refused
  SyncEvent turn;    // a connection has ended since the stop, or the grace is shorter now
  // --- Counters; written by many.
  seam::Atomic<std::uint64_t> accepted{0};
  seam::Atomic<std::uint64_t> open{0};
  seam::Atomic<std::uint64_t> failed{0};
  seam::Atomic<std::uint64_t> cut{0};
  seam::Atomic<std::uint64_t> accept_errors{0};
  seam::Atomic<std::uint64_t> full{0};
  // Before `called`.
  seam::Atomic<std::uint64_t> refused{0};
  // Set once, before `called`.
  seam::Atomic<bool> stopping{false};
  // --- Under the lock.
  seam::SpinLock lock;
  List<ConnectionCore> connections;
  Deadline until = never;
  // --- Of run().
  std::uint64_t refused_told = 0;

  void accept_all(Nursery& nursery);
  bool accept_one(TcpStream& into);
  void serve(TcpStream stream, Seat& seat);
  void refuse();
  void tell_of_refused();
  void tell(const ServerTrouble& trouble) const noexcept;
  bool tell_one();
  void drain(Nursery& nursery);
  Deadline grace_end() {
    const std::lock_guard guard(lock);
    return until;
  }
  Deadline idle_deadline(Deadline deadline) const {
    return options.idle == std::chrono::nanoseconds::max() ? deadline : std::min(deadline, later(now(), options.idle));
  }
};

// A place in the server, from before the accept to the end of the connection, also if its task never begins: then this
// is all that knows of it. Its end may be that of a closure without a stack, outside of any task.
class Seat {
 public:
  explicit Seat(ServerCore& server) : server_(&server) {}
  Seat(Seat&& from) noexcept
      : server_(std::exchange(from.server_, nullptr)), taken_(from.taken_), begun_(from.begun_) {}
  Seat& operator=(Seat&&) = delete;
  ~Seat() {
    if (server_ == nullptr) return;
    if (taken_ && !begun_ && !cancel_requested()) server_->refuse();
    // seq_cst, both: either this sees the stop, or drain sees one less.
    if (taken_) server_->open.fetch_sub(1);
    if (server_->stopping.load()) server_->turn.set();
    server_->seats.release();
  }
  void take() {
    taken_ = true;
    server_->open.fetch_add(1, std::memory_order_relaxed);
    server_->accepted.fetch_add(1, std::memory_order_relaxed);
  }
  // Its handler is about to be called.
  void begin() { begun_ = true; }

 private:
  ServerCore* server_;
  bool taken_ = false;
  bool begun_ = false;
};

namespace {

// Takes its seat with it, however it ends.
class Listed {
 public:
  explicit Listed(ConnectionCore& connection) : connection_(connection), server_(connection.server) {
    const std::lock_guard guard(server_.lock);
    server_.connections.push_back(connection);
    if (server_.stopping.load(std::memory_order_relaxed))
      connection.activity.store(Activity::told, std::memory_order_relaxed);
  }
  ~Listed() {
    const std::lock_guard guard(server_.lock);
    connection_.unlink();
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  ConnectionCore& connection_;
  ServerCore& server_;
};

bool is_gone(int os_error) {
  return os_error == EBADF || os_error == EINVAL || os_error == ENOTSOCK || os_error == EOPNOTSUPP;
}

}  // namespace

void ServerCore::tell(const ServerTrouble& trouble) const noexcept {
  if (options.on_trouble) options.on_trouble(trouble);
}

// Nobody waits here, and no handler of the user's is called: see Seat.
void ServerCore::refuse() {
  failed.fetch_add(1, std::memory_order_relaxed);
  refused.fetch_add(1, std::memory_order_relaxed);
  called.set();
}

void ServerCore::tell_of_refused() {
  const std::uint64_t all = refused.load(std::memory_order_relaxed);
  if (std::exchange(refused_told, all) != all) tell({{}, ENOMEM, nullptr});
}

// [SERVE-2]
bool ServerCore::accept_one(TcpStream& into) {
  constexpr std::chrono::nanoseconds first_pause = std::chrono::milliseconds(1);
  std::chrono::nanoseconds pause = std::min(first_pause, options.max_pause);
  bool told = false;
  for (;;) {
    IoResult result;
    try {
      result = listener.accept_result(into);
    } catch (const std::bad_alloc&) {
      result = IoResult::failed(ENOMEM);
    }
    if (result.ok()) return true;
    if (result.os_error() == ECANCELED) return false;
    if (is_gone(result.os_error())) throw std::system_error(result.error(), "accept");
    accept_errors.fetch_add(1, std::memory_order_relaxed);
    if (!std::exchange(told, true)) tell({{}, result.os_error(), nullptr});
    sleep(pause);
    pause = std::min(2 * pause, options.max_pause);
  }
}

void ServerCore::accept_all(Nursery& nursery) {
  std::uint64_t refused_before = 0;
  for (;;) {
    // [SERVE-2] Those who come next would fare no better just now.
    if (const std::uint64_t all = refused.load(std::memory_order_relaxed); all != refused_before) {
      refused_before = all;
      sleep(options.max_pause);
    }
    // [SERVE-1]
    if (!seats.try_acquire()) {
      full.fetch_add(1, std::memory_order_relaxed);
      seats.acquire();
    }
    TcpStream stream;
    Seat seat(*this);
    if (!accept_one(stream)) return;
    seat.take();
    // [SERVE-3] Also if there is no record for it, no stack, no memory: then its seat tells.
    try {
      (void)nursery.spawn(
          [this, stream = std::move(stream), seat = std::move(seat)]() mutable {
            Seat mine(std::move(seat));
            try {
              serve(std::move(stream), mine);
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): before its handler was called
            }
          },
          {.apart = true});
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its seat
    } catch (const RuntimeError& error) {
      if (error.code() != RuntimeErrc::no_memory) throw;
    }
  }
}

// [SERVE-3]
void ServerCore::serve(TcpStream stream, Seat& seat) {
  const auto core = std::make_shared<ConnectionCore>(*this, std::move(stream));
  const Listed listed(*core);
  Connection connection(*core);
  seat.begin();
  std::exception_ptr failure;
  try {
    handler(connection);
  } catch (const Cancelled&) {
    if (cancel_requested()) {
      (void)core->wire.close();
      throw;
    }
    failure = std::current_exception();  // somebody else's: of a future that it has awaited, of a nursery of its own
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure != nullptr) {
    failed.fetch_add(1, std::memory_order_relaxed);
    tell({core->wire.peer(), 0, failure});
  }
  (void)core->wire.close();
}

// Those who are told stand behind those who are not. False: all are.
bool ServerCore::tell_one() {
  std::shared_ptr<ConnectionCore> resting;
  {
    const std::lock_guard guard(lock);
    if (connections.empty()) return false;
    ConnectionCore& first = *connections.front();
    const Activity was = first.activity.exchange(Activity::told, std::memory_order_acq_rel);
    if (was == Activity::told) return false;
    first.unlink();
    connections.push_back(first);
    if (was == Activity::resting) resting = first.shared_from_this();
  }
  if (resting != nullptr) resting->end_reading();
  return true;
}

// [SERVE-4]
void ServerCore::drain(Nursery& nursery) {
  while (tell_one()) {
  }
  for (;;) {
    turn.reset();
    const Deadline end = grace_end();
    if (open.load() == 0) return;
    if (now() >= end) break;
    (void)turn.wait_until(end);
  }
  cut.fetch_add(open.load(std::memory_order_relaxed), std::memory_order_relaxed);
  nursery.cancel();
}

}  // namespace detail

using namespace detail;

IoResult Connection::read(weft::Room room, Deadline deadline) {
  return core_.wire.read(room, core_.server.idle_deadline(deadline));
}

// Who takes some of it in time has time for the rest.
IoResult Connection::write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) {
  written = 0;
  Bytes torn;  // what is left of the piece that was cut; then the pieces
  for (;;) {
    std::size_t now_written = 0;
    const Deadline end = core_.server.idle_deadline(deadline);
    const IoResult result = torn.size != 0 ? core_.wire.write_bytes(torn, now_written, end)
                                           : core_.wire.write_all(pieces, now_written, end);
    written += now_written;
    if (result.ok() && torn.size == 0) return IoResult(static_cast<long>(written));
    if (!result.ok() && (result.os_error() != ETIMEDOUT || now_written == 0 || now() >= deadline)) return result;
    if (torn.size != 0) {
      torn = torn.from(now_written);
      continue;
    }
    while (!pieces.empty() && now_written >= pieces.front().size) {
      now_written -= pieces.front().size;
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) continue;
    torn = pieces.front().from(now_written);
    pieces = pieces.subspan(1);
  }
}

IoResult Connection::shutdown_write(Deadline deadline) {
  return core_.wire.shutdown_write(deadline);
}

IoResult Connection::close() noexcept {
  return core_.wire.close();
}

IoResult Connection::reset() noexcept {
  return core_.wire.reset();
}

Address Connection::peer() const {
  return core_.wire.peer();
}

bool Connection::rest() {
  Activity was = Activity::working;
  if (!stopping() && (core_.activity.compare_exchange_strong(was, Activity::resting, std::memory_order_acq_rel,
                                                             std::memory_order_relaxed) ||
                      was == Activity::resting))
    return true;
  core_.end_reading();  // what has come already can be read; nothing is waited for
  return false;
}

bool Connection::work() {
  Activity was = Activity::resting;
  const bool goes_on = core_.activity.compare_exchange_strong(was, Activity::working, std::memory_order_acq_rel,
                                                              std::memory_order_relaxed) ||
                       was == Activity::working;
  return goes_on && !stopping();
}

bool Connection::stopping() const {
  return core_.server.stopping.load(std::memory_order_relaxed);
}

Server::Server(TcpListener listener, ServerOptions options, Handler handler)
    : core_(std::make_unique<ServerCore>(std::move(listener), std::move(options), std::move(handler))) {}
// Streams of either kind are accepted, read, written and shut down by the same calls.
Server::Server(UnixListener listener, ServerOptions options, Handler handler)
    : Server(TcpListener(std::move(listener.descriptor_)), std::move(options), std::move(handler)) {}
Server::~Server() = default;

Address Server::local() const {
  return core_->listener.local();
}

void Server::run() {
  ServerCore& core = *core_;
  std::exception_ptr failure;
  with_nursery([&](Nursery& nursery) {
    auto acceptor = nursery.spawn([&] {
      try {
        core.accept_all(nursery);
      } catch (const std::system_error&) {
        failure = std::current_exception();
        stop(std::chrono::nanoseconds::max());
      }
    });
    do {
      core.called.wait();
      core.called.reset();
      core.tell_of_refused();
    } while (!stopping());
    acceptor.cancel();
    acceptor.wait();
    if (core.listener.is_open()) core.listener.close();
    core.drain(nursery);
  });
  core.tell_of_refused();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void Server::stop(std::chrono::nanoseconds grace) {
  const Deadline end = deadline_for(grace);
  {
    const std::lock_guard guard(core_->lock);
    core_->until = std::min(core_->until, end);
    core_->stopping.store(true);
  }
  core_->called.set();
  core_->turn.set();
}

bool Server::stopping() const {
  return core_->stopping.load(std::memory_order_relaxed);
}

ServerCounts Server::counts() const {
  const auto read = [](const seam::Atomic<std::uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  return {read(core_->accepted),      read(core_->open), read(core_->failed), read(core_->cut),
          read(core_->accept_errors), read(core_->full), read(core_->refused)};
}

}  // namespace weft::inline v0

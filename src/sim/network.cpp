// SPDX-License-Identifier: MIT
#include "sim/network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "sim/network_text.hpp"

namespace weft::inline v0::detail {

namespace {

constexpr std::size_t stream_window = 65536;      // bytes that may be sent and not yet read
constexpr std::int64_t lost_delay = 200'000'000;  // a segment that got lost comes so much later
constexpr std::int64_t longest_retry = 1'600'000'000;
constexpr std::size_t most_letters = 1024;  // that wait in a datagram socket
constexpr std::uint16_t first_port = 49152;

}  // namespace

struct Network::Attempt {
  SimSocketRef socket;
  Place to;
  Address from;
  std::int64_t begun = 0;
  std::int64_t pause = lost_delay;
  bool local = false;
  bool over = false;
  long result = 0;
};

HostNumber Network::host(std::string_view name) {
  HostNumber number = 0;
  if (find(name, number)) return number;
  hosts_.emplace_back(name);
  return static_cast<HostNumber>(hosts_.size() - 1);
}

bool Network::find(std::string_view name, HostNumber& into) const {
  const auto found = std::find(hosts_.begin(), hosts_.end(), name);
  into = static_cast<HostNumber>(found - hosts_.begin());
  return found != hosts_.end();
}

Address Network::address(HostNumber host, std::uint16_t port) const {
  return Address::ip(ip_of(host), port);
}

void Network::partition(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  for (const std::string& a : one)
    for (const std::string& b : other) {
      const HostNumber x = host(a);
      const HostNumber y = host(b);
      cut_.insert({std::min(x, y), std::max(x, y)});
    }
}

void Network::reset(std::string_view one, std::string_view other) {
  const HostNumber a = host(one);
  const HostNumber b = host(other);
  for (const std::weak_ptr<SimEnd>& weak : ends_) {
    const SimEndRef end = weak.lock();
    if (end != nullptr && ((end->host == a && end->other == b) || (end->host == b && end->other == a)))
      break_end(*end, ECONNRESET);
  }
}

// False: an address of a kind that there is not.
bool Network::place_of(HostNumber from, const void* address, std::uint32_t size, Place& into, bool& reachable) const {
  const SimTarget target = target_of(address, size);
  reachable = true;
  into = {from, target.port, target.path};
  switch (target.kind) {
    case SimTarget::Kind::here:
    case SimTarget::Kind::any:
      return true;
    case SimTarget::Kind::host:
      into.host = target.host;
      reachable = target.host < hosts_.size();
      return true;
    case SimTarget::Kind::elsewhere:
      reachable = false;
      return true;
    case SimTarget::Kind::unknown:
      return false;
  }
  return false;
}

std::int64_t Network::latency(HostNumber a, HostNumber b) {
  if (a == b) return 0;
  return fate_.between(ChoiceStream::network, options_.latency_min.count(), options_.latency_max.count(), "latency");
}

std::uint16_t Network::free_port(HostNumber host, bool datagrams) {
  std::uint16_t& next = next_port_.try_emplace(host, first_port).first->second;
  const auto& used = datagrams ? datagrams_ : listeners_;
  while (used.contains({host, next, {}})) next = next == 65535 ? first_port : static_cast<std::uint16_t>(next + 1);
  const std::uint16_t port = next;
  next = next == 65535 ? first_port : static_cast<std::uint16_t>(next + 1);
  return port;
}

long Network::open(HostNumber host, const IoRequest& request) {
  const int family = static_cast<int>(request.flags);
  const auto type = request.mode & ~static_cast<std::uint32_t>(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return -EAFNOSUPPORT;
  if (type != SOCK_STREAM && (type != SOCK_DGRAM || family == AF_UNIX)) return -EPROTONOSUPPORT;
  auto socket = std::make_shared<SimSocket>(*this);
  socket->host = host;
  socket->family = family;
  if (type == SOCK_DGRAM) socket->kind = SimSocket::Kind::datagram;
  return descriptors_.add(std::move(socket));
}

long Network::pair(HostNumber host, const IoRequest& request) {
  const auto [one, other] = connect_ends(host, host, true);
  int* into = static_cast<int*>(request.data);
  for (const SimEndRef& end : {one, other}) {
    auto socket = std::make_shared<SimSocket>(*this);
    socket->host = host;
    socket->family = AF_UNIX;
    socket->kind = SimSocket::Kind::stream;
    socket->end = end;
    end->socket = socket;
    *into++ = descriptors_.add(std::move(socket));
  }
  return 0;
}

// Names of hosts, "localhost", and numbers. It takes as long as asking another host would.
long Network::resolve(HostNumber host, const IoRequest& request) {
  std::uint16_t port = 0;
  if (request.to != nullptr) {
    const std::string_view text = request.to;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size()) return -ENOENT;
  }
  pass_time(fate_.now() + fate_.between(ChoiceStream::network, options_.latency_min.count(),
                                        options_.latency_max.count(), "latency"),
            "resolve");
  const std::string_view name = request.path;
  HostNumber number = host;
  Address found = Address::loopback(port);
  if (name != "localhost") {
    if (find(name, number)) {
      found = address(number, port);
    } else {
      in_addr ip{};
      if (inet_pton(AF_INET, request.path, &ip) != 1) return -ENOENT;
      found = Address::ip(name, port);
    }
  }
  if (request.size < sizeof(sockaddr_storage)) return 0;
  std::memset(request.data, 0, sizeof(sockaddr_storage));
  std::memcpy(request.data, found.data(), found.size);
  return 1;
}

long Network::perform(const SimSocketRef& socket, IoRequest& request) {
  const bool letters = socket->kind == SimSocket::Kind::datagram;
  switch (request.op) {
    case IoOp::bind:
      return bind(*socket, request);
    case IoOp::listen:
      return listen(socket, request);
    case IoOp::accept:
      return accept(*socket, request);
    case IoOp::connect:
      return connect(socket, request);
    case IoOp::send:
    case IoOp::write:
      return letters ? send_datagram(*socket, request) : send(*socket, request);
    case IoOp::recv:
    case IoOp::read:
      return letters ? recv_datagram(*socket, request) : recv(*socket, request);
    case IoOp::shutdown:
      return shut_down(*socket, request);
    case IoOp::poll:
      return poll(*socket, request);
    case IoOp::name:
      return name(*socket, request);
    case IoOp::option:
      if (request.flags == SOL_SOCKET && request.mode == SO_LINGER) {
        linger value{};
        std::memcpy(&value, request.data, std::min(sizeof value, request.size));
        socket->resets = value.l_onoff != 0 && value.l_linger == 0;
      }
      return 0;
    default:
      return -EINVAL;
  }
}

long Network::bind(SimSocket& socket, const IoRequest& request) {
  if (socket.bound) return -EINVAL;
  bool reachable = false;
  Place place;
  if (!place_of(socket.host, request.address, *request.address_size, place, reachable)) return -EAFNOSUPPORT;
  if (!reachable || place.host != socket.host) return -EADDRNOTAVAIL;
  const bool letters = socket.kind == SimSocket::Kind::datagram;
  if (place.path.empty() && place.port == 0) place.port = free_port(socket.host, letters);
  auto& used = letters ? datagrams_ : listeners_;
  if (used.contains(place)) return -EADDRINUSE;
  socket.bound = true;
  socket.place = place;
  socket.local = place.path.empty() ? with_port(request.address, *request.address_size, place.port)
                                    : with_port(request.address, *request.address_size, 0);
  if (letters) used.emplace(place, std::static_pointer_cast<SimSocket>(descriptors_.find(request)));
  return 0;
}

long Network::listen(const SimSocketRef& socket, const IoRequest& request) {
  if (socket->kind != SimSocket::Kind::fresh && socket->kind != SimSocket::Kind::listener) return -EINVAL;
  if (!socket->bound) {
    socket->place = {socket->host, free_port(socket->host, false), {}};
    socket->local = address(socket->host, socket->place.port);
    socket->bound = true;
  }
  if (socket->kind == SimSocket::Kind::fresh && listeners_.contains(socket->place)) return -EADDRINUSE;
  socket->kind = SimSocket::Kind::listener;
  socket->backlog = std::max<std::size_t>(request.flags, 1);
  listeners_.insert_or_assign(socket->place, socket);
  return 0;
}

long Network::accept(SimSocket& socket, IoRequest& request) {
  if (socket.kind != SimSocket::Kind::listener) return -EINVAL;
  while (socket.waiting.empty())
    if (const long result = wait_for_change(socket, request); result != 0) return result;
  auto [end, from] = std::move(socket.waiting.front());
  socket.waiting.pop_front();
  auto made = std::make_shared<SimSocket>(*this);
  made->host = socket.host;
  made->family = socket.family;
  made->kind = SimSocket::Kind::stream;
  made->local = socket.place.path.empty() ? address(socket.host, socket.place.port) : socket.local;
  made->peer = from;
  end->socket = made;
  made->end = std::move(end);
  give_address(request, from);
  return descriptors_.add(std::move(made));
}

// A host asks another one for a connection, again and again if it hears nothing.
void Network::knock(const std::shared_ptr<Attempt>& attempt) {
  const HostNumber from = attempt->socket->host;
  agenda_.at(fate_.now() + (attempt->local ? 0 : latency(from, attempt->to.host)), [this, attempt, from] {
    if (attempt->over) return;
    const auto later = [&] {
      if (fate_.now() - attempt->begun > options_.gives_up.count()) {
        attempt->over = true;
        attempt->result = -ETIMEDOUT;
        return attempt->socket->changed.pulse();
      }
      agenda_.at(fate_.now() + attempt->pause, [this, attempt] {
        if (!attempt->over) knock(attempt);
      });
      attempt->pause = std::min(attempt->pause * 2, longest_retry);
    };
    const auto answer = [&](long result) {
      agenda_.at(fate_.now() + (attempt->local ? 0 : latency(from, attempt->to.host)), [attempt, result] {
        if (attempt->over) return;
        attempt->over = true;
        attempt->result = result;
        attempt->socket->changed.pulse();
      });
    };
    if (is_cut(from, attempt->to.host) ||
        (!attempt->local && fate_.strikes(ChoiceStream::network, options_.loss, "loss")))
      return later();
    const auto found = listeners_.find(attempt->to);
    const SimSocketRef listener = found != listeners_.end() ? found->second.lock() : nullptr;
    if (listener == nullptr || listener->closed) return answer(attempt->to.path.empty() ? -ECONNREFUSED : -ENOENT);
    if (listener->waiting.size() >= listener->backlog) return later();
    const auto [mine, theirs] = connect_ends(from, attempt->to.host, attempt->local);
    attempt->socket->end = mine;
    mine->socket = attempt->socket;
    listener->waiting.emplace_back(theirs, attempt->from);
    listener->changed.pulse();
    answer(0);
  });
}

long Network::connect(const SimSocketRef& socket, const IoRequest& request) {
  bool reachable = false;
  Place to;
  if (!place_of(socket->host, request.address, *request.address_size, to, reachable)) return -EAFNOSUPPORT;
  Address peer;
  std::memcpy(peer.data(), request.address, std::min(*request.address_size, Address::room));
  peer.size = *request.address_size;
  if (socket->kind == SimSocket::Kind::datagram) {
    socket->peer = peer;
    return 0;
  }
  if (socket->kind == SimSocket::Kind::stream) return -EISCONN;
  if (socket->kind != SimSocket::Kind::fresh) return -EINVAL;
  if (!reachable) return -ENETUNREACH;
  if (!socket->bound && to.path.empty()) socket->local = address(socket->host, free_port(socket->host, false));
  auto attempt = std::make_shared<Attempt>();
  attempt->socket = socket;
  attempt->to = to;
  attempt->from = socket->local;
  attempt->begun = fate_.now();
  attempt->local = to.host == socket->host;
  knock(attempt);
  const auto give_up = [&] {
    attempt->over = true;
    if (socket->end != nullptr) close_end(std::exchange(socket->end, nullptr), true);
  };
  long result = 0;
  try {
    while (!attempt->over && result == 0) result = wait_for_change(*socket, request);
  } catch (...) {
    give_up();
    throw;
  }
  if (result == 0 || attempt->over) result = attempt->result;
  if (socket->closed) result = -EBADF;
  if (result != 0) {
    give_up();
    return result;
  }
  socket->kind = SimSocket::Kind::stream;
  socket->peer = peer;
  return 0;
}

std::pair<SimEndRef, SimEndRef> Network::connect_ends(HostNumber a, HostNumber b, bool local) {
  auto one = std::make_shared<SimEnd>();
  auto other = std::make_shared<SimEnd>();
  one->host = other->other = a;
  other->host = one->other = b;
  one->local = other->local = local;
  one->peer = other;
  other->peer = one;
  std::erase_if(ends_, [](const auto& each) { return each.expired(); });
  ends_.push_back(one);
  ends_.push_back(other);
  return {std::move(one), std::move(other)};
}

void Network::put_under_way(const SimEndRef& from, std::string data, bool fin, bool reset) {
  SimEnd::Segment segment;
  segment.data = std::move(data);
  segment.fin = fin;
  segment.reset = reset;
  segment.sent = fate_.now();
  segment.pause = lost_delay;
  std::int64_t takes = from->local ? 0 : latency(from->host, from->other);
  if (!from->local && fate_.strikes(ChoiceStream::network, options_.loss, "loss")) takes += lost_delay;
  segment.arrives = from->last = std::max(from->last, fate_.now() + takes);
  from->under_way.push_back(std::move(segment));
  plan(from);
}

void Network::plan(const SimEndRef& from) {
  if (from->planned || from->under_way.empty()) return;
  from->planned = true;
  agenda_.at(std::max(from->under_way.front().arrives, fate_.now()), [this, from] {
    from->planned = false;
    if (!from->under_way.empty()) arrive(from);
    plan(from);
  });
}

void Network::arrive(const SimEndRef& from) {
  SimEnd::Segment& first = from->under_way.front();
  if (!from->local && is_cut(from->host, from->other)) {
    if (fate_.now() - first.sent > options_.gives_up.count()) return break_end(*from, ETIMEDOUT);
    first.arrives = fate_.now() + first.pause;
    first.pause = std::min(first.pause * 2, longest_retry);
    from->last = std::max(from->last, first.arrives);
    return;
  }
  const SimEnd::Segment segment = std::move(first);
  from->under_way.pop_front();
  const SimEndRef to = from->peer.lock();
  if (to == nullptr || to->broken) return;
  if (segment.reset) return break_end(*to, ECONNRESET);
  if (to->gone) {
    // [NET-2]
    if (!segment.data.empty() && !from->gone) break_end(*from, ECONNRESET);
    return;
  }
  to->inbox += segment.data;
  if (segment.fin) to->fin = true;
  if (const SimSocketRef socket = to->socket.lock()) socket->changed.pulse();
}

void Network::break_end(SimEnd& end, int error) {
  if (end.broken) return;
  end.broken = true;
  end.error = error;
  end.under_way.clear();
  if (error == ECONNRESET) end.inbox.clear();
  if (const SimSocketRef socket = end.socket.lock()) socket->changed.pulse();
}

namespace {

long take_error(SimEnd& end, int after) {
  const int error = std::exchange(end.error, 0);
  return error != 0 ? -error : -after;
}

}  // namespace

long Network::send(SimSocket& socket, const IoRequest& request) {
  for (;;) {
    if (socket.kind != SimSocket::Kind::stream) return -ENOTCONN;
    const SimEndRef end = socket.end;
    if (end->broken) return take_error(*end, EPIPE);
    if (end->said_last) return -EPIPE;
    const std::string bytes = bytes_of(request);
    if (bytes.empty()) return 0;
    if (end->unread < stream_window) {
      if (!end->local && fate_.strikes(ChoiceStream::network, options_.reset, "reset")) {
        if (const SimEndRef peer = end->peer.lock()) break_end(*peer, ECONNRESET);
        break_end(*end, ECONNRESET);
        continue;
      }
      const std::size_t most = std::min(bytes.size(), stream_window - end->unread);
      const std::size_t count = fate_.part(ChoiceStream::network, options_.cut, most, "short write");
      end->unread += count;
      put_under_way(end, bytes.substr(0, count), false, false);
      return static_cast<long>(count);
    }
    if ((request.flags & MSG_DONTWAIT) != 0) return -EAGAIN;
    if (const long result = wait_for_change(socket, request); result != 0) return result;
  }
}

long Network::recv(SimSocket& socket, IoRequest& request) {
  for (;;) {
    if (socket.kind != SimSocket::Kind::stream) return -ENOTCONN;
    const SimEndRef end = socket.end;
    const std::size_t room = room_of(request);
    if (!end->inbox.empty() && room != 0) {
      const std::size_t count =
          fate_.part(ChoiceStream::network, options_.cut, std::min(room, end->inbox.size()), "short read");
      put_bytes(request, std::string_view(end->inbox).substr(0, count));
      if ((request.flags & MSG_PEEK) != 0) return static_cast<long>(count);
      end->inbox.erase(0, count);
      if (const SimEndRef peer = end->peer.lock()) {
        peer->unread -= std::min(peer->unread, count);
        if (const SimSocketRef other = peer->socket.lock()) other->changed.pulse();
      }
      return static_cast<long>(count);
    }
    if (room == 0 || end->fin || end->reads_no_more) return 0;
    if (end->broken) return take_error(*end, 0);
    if ((request.flags & MSG_DONTWAIT) != 0) return -EAGAIN;
    if (const long result = wait_for_change(socket, request); result != 0) return result;
  }
}

long Network::shut_down(SimSocket& socket, const IoRequest& request) {
  if (socket.kind != SimSocket::Kind::stream) return -ENOTCONN;
  const SimEndRef end = socket.end;
  if (request.flags == SHUT_RD || request.flags == SHUT_RDWR) end->reads_no_more = true;
  if ((request.flags == SHUT_WR || request.flags == SHUT_RDWR) && !end->said_last) {
    end->said_last = true;
    if (!end->broken) put_under_way(end, {}, true, false);
  }
  socket.changed.pulse();
  return 0;
}

void Network::close_end(const SimEndRef& end, bool resets) {
  end->gone = true;
  if (end->broken) return;
  if (resets || !end->inbox.empty()) {
    end->under_way.clear();
    put_under_way(end, {}, false, true);
  } else if (!std::exchange(end->said_last, true)) {
    put_under_way(end, {}, true, false);
  }
}

void Network::close(SimSocket& socket) {
  if (socket.end != nullptr) close_end(socket.end, socket.resets);
  for (const auto& [end, from] : socket.waiting) close_end(end, true);
  socket.waiting.clear();
  if (socket.kind == SimSocket::Kind::listener) listeners_.erase(socket.place);
  if (socket.kind == SimSocket::Kind::datagram && socket.bound) datagrams_.erase(socket.place);
}

long Network::send_datagram(SimSocket& socket, const IoRequest& request) {
  const bool given = request.address != nullptr;
  if (!given && socket.peer.size == 0) return -EDESTADDRREQ;
  Place to;
  bool reachable = false;
  if (!place_of(socket.host, given ? request.address : socket.peer.data(),
                given ? *request.address_size : socket.peer.size, to, reachable))
    return -EAFNOSUPPORT;
  if (!socket.bound) {
    socket.place = {socket.host, free_port(socket.host, true), {}};
    socket.local = address(socket.host, socket.place.port);
    socket.bound = true;
    datagrams_.emplace(socket.place, std::static_pointer_cast<SimSocket>(descriptors_.find(request)));
  }
  std::string bytes = bytes_of(request);
  const auto size = static_cast<long>(bytes.size());
  if (bytes.size() > 65507) return -EMSGSIZE;
  const Address from = to.host == socket.host ? socket.local : address(socket.host, socket.place.port);
  const bool local = to.host == socket.host;
  if (!reachable || (!local && fate_.strikes(ChoiceStream::network, options_.loss, "loss"))) return size;
  if (!local && fate_.strikes(ChoiceStream::network, options_.duplicate, "duplicate"))
    carry(socket.place, from, to, bytes);
  carry(socket.place, from, to, std::move(bytes));
  return size;
}

void Network::carry(const Place& from, const Address& from_address, const Place& to, std::string data) {
  agenda_.at(fate_.now() + latency(from.host, to.host), [this, from, from_address, to, data = std::move(data)] {
    if (from.host != to.host && is_cut(from.host, to.host)) return;
    const auto found = datagrams_.find(to);
    const SimSocketRef socket = found != datagrams_.end() ? found->second.lock() : nullptr;
    if (socket == nullptr || socket->closed || socket->letters.size() >= most_letters) return;
    socket->letters.emplace_back(data, from_address);
    socket->changed.pulse();
  });
}

long Network::recv_datagram(SimSocket& socket, IoRequest& request) {
  while (socket.letters.empty()) {
    if ((request.flags & MSG_DONTWAIT) != 0) return -EAGAIN;
    if (const long result = wait_for_change(socket, request); result != 0) return result;
  }
  auto [bytes, from] = std::move(socket.letters.front());
  socket.letters.pop_front();
  put_bytes(request, bytes);
  give_address(request, from);
  return static_cast<long>(std::min(bytes.size(), room_of(request)));
}

long Network::poll(SimSocket& socket, const IoRequest& request) {
  for (;;) {
    const std::uint32_t ready = socket.ready();
    if ((ready & (request.flags | io_hung_up)) != 0) return static_cast<long>(ready & (request.flags | io_hung_up));
    if (const long result = wait_for_change(socket, request); result != 0) return result;
  }
}

long Network::name(const SimSocket& socket, IoRequest& request) {
  const bool peer = request.flags != 0;
  if (peer && (socket.kind != SimSocket::Kind::stream || socket.end->broken)) return -ENOTCONN;
  Address answer = peer ? socket.peer : socket.local;
  if (answer.size == 0 && socket.family != AF_UNIX) answer = Address::any(0);
  give_address(request, answer);
  return 0;
}

std::string SimSocket::about() const {
  switch (kind) {
    case Kind::fresh:
      return "a socket of host " + network.name_of(host);
    case Kind::listener:
      return "a listener at " + local.to_string() + " of host " + network.name_of(host);
    case Kind::stream:
      return "a stream to " + (peer.size != 0 ? peer.to_string() : std::string("its other end")) + " of host " +
             network.name_of(host);
    case Kind::datagram:
      return "a datagram socket of host " + network.name_of(host);
  }
  return "?";
}

std::uint32_t SimSocket::ready() const {
  switch (kind) {
    case Kind::fresh:
      return io_hung_up;
    case Kind::listener:
      return waiting.empty() ? 0U : std::uint32_t{io_readable};
    case Kind::datagram:
      return io_writable | (letters.empty() ? 0U : std::uint32_t{io_readable});
    case Kind::stream:
      break;
  }
  std::uint32_t bits = 0;
  if (!end->inbox.empty() || end->fin || end->broken || end->reads_no_more) bits |= io_readable;
  if (end->unread < stream_window || end->broken) bits |= io_writable;
  if (end->broken || (end->fin && end->said_last)) bits |= io_hung_up;
  return bits;
}

}  // namespace weft::inline v0::detail

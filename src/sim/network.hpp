// SPDX-License-Identifier: MIT
// What: hosts and what goes between them. A stream is bytes in order, cut into segments, each with a latency of its own
// that never lets it overtake; lost ones come later, and while a partition lasts none come, until the sender gives up.
// A datagram goes its own way: it may be lost, come twice, or after a later one. On one host (loopback, Unix sockets)
// nothing is lost and everything takes no time.
//
// Invariants
//   [NET-1] A connection is two ends; each holds what has arrived (`inbox`) and what it has sent (`under_way`). One
//           plan at a time stands in the agenda per end, for the first segment under way.
//   [NET-2] An end whose descriptor is closed answers what still comes by a reset, as Linux does; one that is closed
//           with unread bytes in it resets at once.
// Threads: the one that drives.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/world.hpp"
#include "weft/address.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {

using HostNumber = std::uint32_t;

struct SimSocket;
struct SimEnd;
using SimSocketRef = std::shared_ptr<SimSocket>;
using SimEndRef = std::shared_ptr<SimEnd>;

class Network {
 public:
  Network(Fate& fate, Agenda& agenda, SimDescriptors& descriptors, const sim::NetworkOptions& options)
      : fate_(fate), agenda_(agenda), descriptors_(descriptors), options_(options) {}

  HostNumber host(std::string_view name);  // made when it is first named
  const std::string& name_of(HostNumber host) const { return hosts_[host]; }
  Address address(HostNumber host, std::uint16_t port) const;
  bool find(std::string_view name, HostNumber& into) const;

  void partition(const std::vector<std::string>& one, const std::vector<std::string>& other);
  void heal() { cut_.clear(); }
  void reset(std::string_view one, std::string_view other);

  // By a task of this host.
  long open(HostNumber host, const IoRequest& request);
  long pair(HostNumber host, const IoRequest& request);
  long resolve(HostNumber host, const IoRequest& request);
  long perform(const SimSocketRef& socket, IoRequest& request);
  // By who closes the descriptor.
  void close(SimSocket& socket);

 private:
  friend struct SimSocket;
  struct Place {
    HostNumber host = 0;
    std::uint16_t port = 0;
    std::string path;  // of a Unix socket
    auto operator<=>(const Place&) const = default;
  };
  struct Attempt;

  bool place_of(HostNumber from, const void* address, std::uint32_t size, Place& into, bool& reachable) const;
  bool is_cut(HostNumber a, HostNumber b) const { return cut_.contains({std::min(a, b), std::max(a, b)}); }
  std::int64_t latency(HostNumber a, HostNumber b);
  std::uint16_t free_port(HostNumber host, bool datagrams);

  long bind(SimSocket& socket, const IoRequest& request);
  long listen(const SimSocketRef& socket, const IoRequest& request);
  long accept(SimSocket& socket, IoRequest& request);
  long connect(const SimSocketRef& socket, const IoRequest& request);
  long send(SimSocket& socket, const IoRequest& request);
  long recv(SimSocket& socket, IoRequest& request);
  long send_datagram(SimSocket& socket, const IoRequest& request);
  long recv_datagram(SimSocket& socket, IoRequest& request);
  long shut_down(SimSocket& socket, const IoRequest& request);
  long poll(SimSocket& socket, const IoRequest& request);
  long name(const SimSocket& socket, IoRequest& request);

  void knock(const std::shared_ptr<Attempt>& attempt);
  std::pair<SimEndRef, SimEndRef> connect_ends(HostNumber a, HostNumber b, bool local);
  void put_under_way(const SimEndRef& from, std::string data, bool fin, bool reset);
  void plan(const SimEndRef& from);
  void arrive(const SimEndRef& from);
  void break_end(SimEnd& end, int error);
  void close_end(const SimEndRef& end, bool resets);
  void carry(const Place& from, const Address& from_address, const Place& to, std::string data);

  Fate& fate_;
  Agenda& agenda_;
  SimDescriptors& descriptors_;
  const sim::NetworkOptions options_;
  std::vector<std::string> hosts_;
  std::set<std::pair<HostNumber, HostNumber>> cut_;
  std::map<Place, std::weak_ptr<SimSocket>> listeners_;
  std::map<Place, std::weak_ptr<SimSocket>> datagrams_;
  std::map<HostNumber, std::uint16_t> next_port_;
  std::vector<std::weak_ptr<SimEnd>> ends_;  // for reset()
};

// One side of a connection.
struct SimEnd {
  struct Segment {
    std::string data;
    bool fin = false;
    bool reset = false;
    std::int64_t arrives = 0;
    std::int64_t sent = 0;
    std::int64_t pause = 0;  // before it is tried again
  };
  HostNumber host = 0;
  HostNumber other = 0;
  bool local = false;
  std::weak_ptr<SimEnd> peer;
  std::weak_ptr<SimSocket> socket;
  std::string inbox;
  std::deque<Segment> under_way;
  bool planned = false;    // [NET-1]
  std::size_t unread = 0;  // of what this end has sent: the window
  std::int64_t last = 0;   // when the last of it arrives
  bool fin = false;        // the other side has said its last
  bool said_last = false;  // this one has
  bool reads_no_more = false;
  bool gone = false;    // its descriptor is closed
  int error = 0;        // told once
  bool broken = false;  // reset or given up: nothing comes or goes
};

struct SimSocket final : SimNode {
  enum class Kind : std::uint8_t { fresh, listener, stream, datagram };

  explicit SimSocket(Network& where) : network(where) {}
  std::string about() const override;
  void close() override { network.close(*this); }
  std::uint32_t ready() const override;

  Network& network;
  Kind kind = Kind::fresh;
  HostNumber host = 0;
  int family = 0;
  bool bound = false;
  Network::Place place;  // bound to
  Address local;
  Address peer;             // of a stream, or of a datagram socket that is connected
  bool resets = false;      // when it is closed (SO_LINGER 0)
  std::size_t backlog = 0;  // of a listener
  std::deque<std::pair<SimEndRef, Address>> waiting;
  SimEndRef end;                                        // of a stream
  std::deque<std::pair<std::string, Address>> letters;  // of a datagram socket
};

}  // namespace weft::inline v0::detail

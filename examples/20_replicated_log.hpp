// SPDX-License-Identifier: MIT
// Three replicas that agree on a log: terms, votes, majorities, whole logs in datagrams. Small, and right, unless it is
// asked to forget one comparison: then a leader that was deposed while it was cut off finds followers who obey it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sim.hpp"
#include "weft/time.hpp"
#include "weft/udp.hpp"

namespace replicated {

using namespace std::chrono_literals;

constexpr std::size_t replicas = 3;
constexpr std::array<const char*, replicas> names = {"a", "b", "c"};
constexpr std::uint16_t port = 7000;

struct Entry {
  int term = 0;
  int value = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// What was promised to clients, whoever promised it. Two promises about one place must be the same.
class Promises {
 public:
  void keep(std::size_t place, const Entry& entry) {
    const auto [known, fresh] = kept_.try_emplace(place, entry);
    weft::sim::check(fresh || known->second == entry, "a place of the log is committed once");
  }
  std::size_t count() const { return kept_.size(); }

 private:
  std::map<std::size_t, Entry> kept_;
};

// 'A'ppend with the sender's log, 'a' its answer with how much is there, 'V'ote for me with the end of my log, 'v' yes.
struct Message {
  char kind = 0;
  int term = 0;
  std::size_t from = 0;
  std::size_t length = 0;
  int last_term = 0;
  std::vector<Entry> log = {};

  std::string text() const {
    std::ostringstream out;
    out << kind << ' ' << term << ' ' << from << ' ' << length << ' ' << last_term;
    for (const Entry& entry : log) out << ' ' << entry.term << ' ' << entry.value;
    return out.str();
  }
  static Message parse(const std::string& text) {
    std::istringstream in(text);
    Message m;
    in >> m.kind >> m.term >> m.from >> m.length >> m.last_term;
    for (Entry entry; in >> entry.term >> entry.value;) m.log.push_back(entry);
    return m;
  }
};

class Replica {
 public:
  Replica(std::size_t me, Promises& promises, bool forgets)
      : me_(me), promises_(promises), forgets_(forgets), socket_(weft::UdpSocket::bind(weft::Address::any(port))) {}

  // Until it is cancelled.
  void serve() {
    wait_for_leader();
    char room[4096];
    for (;;) {
      weft::Address from;
      const weft::IoResult got = socket_.receive_result(room, from, next_);
      if (weft::cancel_requested()) weft::yield_now();  // raises it
      if (got.ok()) {
        hear(Message::parse(std::string(room, got.count())));
      } else if (leads_) {
        lead();
      } else {
        stand_for_election();
      }
    }
  }

 private:
  int last_term() const { return log_.empty() ? 0 : log_.back().term; }

  void tell(std::size_t whom, Message m) {
    m.from = me_;
    m.length = log_.size();
    m.last_term = last_term();
    const std::string text = m.text();
    (void)socket_.send_to(text, weft::sim::address(names[whom], port));
  }
  void tell_others(const Message& m) {
    for (std::size_t other = 0; other < replicas; ++other)
      if (other != me_) tell(other, m);
  }
  // Some wait longer than others, lest all stand at once.
  void wait_for_leader() { next_ = weft::now() + 100ms + 30ms * (me_ + weft::sim::choose(3)); }

  void lead() {
    if (log_.size() < 20) log_.push_back({term_, next_value_++ * 10 + static_cast<int>(me_)});
    Message m{.kind = 'A', .term = term_};
    m.log = log_;
    tell_others(m);
    next_ = weft::now() + 25ms;
  }
  void stand_for_election() {
    ++term_;
    voted_ = true;
    votes_ = 1;
    tell_others({.kind = 'V', .term = term_});
    wait_for_leader();
  }
  void step_down(int term) {
    term_ = term;
    voted_ = false;
    leads_ = false;
    wait_for_leader();
  }

  void hear(const Message& m) {
    // Who speaks of an older term has missed an election. To forget that is the bug.
    if (m.term < term_ && !(forgets_ && m.kind == 'A' && !leads_)) return;
    if (m.term > term_) step_down(m.term);
    switch (m.kind) {
      case 'A':
        if (m.log.size() >= log_.size() || m.last_term > last_term() || forgets_) log_ = m.log;
        wait_for_leader();
        return tell(m.from, {.kind = 'a', .term = m.term});
      case 'a':
        if (leads_) count(m);
        return;
      case 'V': {
        const bool newer = m.last_term > last_term() || (m.last_term == last_term() && m.length >= log_.size());
        if (voted_ || leads_ || !newer) return;
        voted_ = true;
        wait_for_leader();
        return tell(m.from, {.kind = 'v', .term = term_});
      }
      default:
        if (leads_ || ++votes_ <= replicas / 2) return;
        leads_ = true;
        known_.fill(0);
        return lead();
    }
  }
  // What a majority has is promised, if it is of this term: an older one may still be overwritten.
  void count(const Message& m) {
    known_[m.from] = m.length;
    for (std::size_t length = log_.size(); length > promised_ && log_[length - 1].term == term_; --length) {
      std::size_t have = 1;
      for (std::size_t other = 0; other < replicas; ++other) have += other != me_ && known_[other] >= length;
      if (have <= replicas / 2) continue;
      for (; promised_ < length; ++promised_) promises_.keep(promised_, log_[promised_]);
      return;
    }
  }

  const std::size_t me_;
  Promises& promises_;
  const bool forgets_;
  weft::UdpSocket socket_;
  std::chrono::steady_clock::time_point next_;
  int term_ = 0;
  bool voted_ = false;
  std::size_t votes_ = 0;
  bool leads_ = false;
  int next_value_ = 1;
  std::vector<Entry> log_;
  std::array<std::size_t, replicas> known_{};  // how much of the leader's log the others have
  std::size_t promised_ = 0;
};

// Two seconds of three replicas, while the network falls apart and comes together again.
inline void run_cluster(bool forgets) {
  Promises promises;
  weft::with_nursery([&](weft::Nursery& nursery) {
    for (std::size_t i = 0; i < replicas; ++i) {
      (void)nursery.spawn(
          [i, forgets, &promises] { weft::sim::on_host(names[i], [&] { Replica(i, promises, forgets).serve(); }); },
          weft::TaskOptions{.name = names[i]});
    }
    for (int round = 0; round < 4; ++round) {
      weft::sleep(200ms + 50ms * weft::sim::choose(4));
      const std::size_t alone = (2 + weft::sim::choose(replicas)) % replicas;
      std::vector<std::string> others;
      for (std::size_t i = 0; i < replicas; ++i)
        if (i != alone) others.emplace_back(names[i]);
      weft::sim::partition({names[alone]}, others);
      weft::sleep(250ms);
      weft::sim::heal();
    }
    nursery.cancel();
  });
  weft::sim::check(promises.count() > 0, "something is committed");
}

}  // namespace replicated

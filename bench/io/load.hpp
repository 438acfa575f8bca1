// SPDX-License-Identifier: MIT
// What: the other side of a server: so many connections, one question in flight on each, from a thread on a processor
// of its own, by a plain epoll loop. The same for every contestant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <string>

#include "bench/harness.hpp"

namespace bench {

struct Load {
  double requests_per_second = 0;
  double server_ns = 0;  // processor time of the server's thread per request
};

inline constexpr unsigned server_cpu = 0;
inline constexpr unsigned client_cpu = 1;
inline constexpr std::uint64_t question = 64;

void pin_to(unsigned cpu);
// Processor time of the thread that called serve_here(), per answered question, while the clients are measured.
// `serve(listener)`: runs on a thread of its own; accepts `connections` and serves them until they close.
Load measure_echo(unsigned connections, void (*serve)(int listener, unsigned connections));

// A server that says where it is and how it is ended.
struct Served {
  std::uint16_t port = 0;
  std::function<void()> stop;
};
using ServedPromise = std::promise<Served>;

struct Talk {
  std::string question;
  std::size_t answer = 0;  // bytes
};
// `serve`: runs on a thread of its own until it is stopped.
Load measure_talk(const Talk& talk, unsigned connections, void (*serve)(ServedPromise&));
// Connections that are made, greeted by a byte, and reset, so many at once: how many per second.
Load measure_arrivals(unsigned at_once, void (*serve)(ServedPromise&));

// A bar of `row` divided by its twin `row`/raw_epoll of the same run.
enum class Better : bool { more, less };
Bar against_raw(const char* row, double limit, Better better);

}  // namespace bench

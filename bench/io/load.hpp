// SPDX-License-Identifier: MIT
// What: the other side of an echo server: so many connections, one 64-byte question in flight on each, from a thread on
// a processor of its own, by a plain epoll loop. The same for every contestant.
#pragma once

#include <cstdint>

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

}  // namespace bench

// SPDX-License-Identifier: MIT
// The scheduler's workloads, as the peers' table describes them. Each probe is one fresh process.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/child.hpp"
#include "bench/harness.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"
#include "weft/wait_group.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

double span(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(to - from);
}

template <class F>
double in_runtime(unsigned workers, F&& body) {
  weft::RuntimeOptions options;
  options.workers = workers;
  weft::Runtime runtime(options);
  return runtime.run([&] {
    body(true);  // warm
    return body(false);
  });
}

void demand(bool right, const char* what) {
  if (!right) throw std::logic_error(std::string("a wrong result in ") + what);
}

// Two tasks that yield to each other.
double switch_ns(bool warm) {
  const std::uint64_t each = warm ? 10'000 : 1'000'000;
  const std::uint64_t t0 = now_ns(Clock::wall);
  weft::with_nursery([&](weft::Nursery& n) {
    for (int k = 0; k < 2; ++k)
      n.start([each] {
        for (std::uint64_t i = 0; i < each; ++i) weft::yield_now();
      });
  });
  return span(t0, now_ns(Clock::wall)) / static_cast<double>(2 * each);
}

// A child spawned and joined, one by one.
double spawn_join_ns(bool warm) {
  const std::uint64_t count = warm ? 10'000 : 3'000'000;
  std::uint64_t sum = 0;
  const std::uint64_t t0 = now_ns(Clock::wall);
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::uint64_t i = 0; i < count; ++i) sum += n.spawn([i] { return i; }).join();
  });
  const double ns = span(t0, now_ns(Clock::wall)) / static_cast<double>(count);
  demand(sum == count * (count - 1) / 2, "spawn_join");
  return ns;
}

// Ten children a node, joined by the nursery's end.
std::uint64_t skynet(std::uint64_t first, std::uint64_t size) {
  if (size == 1) return first;
  std::uint64_t part[10];
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::uint64_t i = 0; i < 10; ++i)
      n.start([&part, first, size, i] { part[i] = skynet(first + i * (size / 10), size / 10); });
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t of_child : part) sum += of_child;
  return sum;
}
// The same by handles, the newest first.
std::uint64_t skynet_handles(std::uint64_t first, std::uint64_t size) {
  if (size == 1) return first;
  std::uint64_t sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    weft::Task<std::uint64_t> children[10];
    for (std::uint64_t i = 0; i < 10; ++i)
      children[i] = n.spawn([first, size, i] { return skynet_handles(first + i * (size / 10), size / 10); });
    for (std::size_t i = 10; i-- > 0;) sum += std::move(children[i]).join();
  });
  return sum;
}
template <std::uint64_t (*tree)(std::uint64_t first, std::uint64_t size)>
double skynet_ms(bool warm) {
  const std::uint64_t size = warm ? 1000 : 1'000'000;
  const std::uint64_t t0 = now_ns(Clock::wall);
  const std::uint64_t sum = tree(0, size);
  const double ms = span(t0, now_ns(Clock::wall)) / 1e6;
  demand(sum == size * (size - 1) / 2, "skynet");
  return ms;
}

// The same tree in the fork-join form: a reduction over ten subtrees at each node.
std::uint64_t skynet_par(std::uint64_t first, std::uint64_t size) {
  if (size == 1) return first;
  const std::uint64_t part = size / 10;
  return weft::reduce(
      std::views::iota(std::uint64_t{0}, std::uint64_t{10}), std::uint64_t{0}, std::plus<>{},
      [first, part](std::uint64_t i) { return skynet_par(first + i * part, part); }, 1);
}
std::uint64_t fib(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto [a, b] = weft::par([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}
double fib_ns(bool warm) {
  const int n = warm ? 20 : 35;
  const double nodes = warm ? 21891 : 29860703;
  const std::uint64_t t0 = now_ns(Clock::wall);
  const std::uint64_t value = fib(n);
  const double ns = span(t0, now_ns(Clock::wall)) / nodes;
  demand(value == (warm ? 6765U : 9227465U), "fib");
  return ns;
}

double reduce_ms(bool warm) {
  static const std::vector<double> values(10'000'000, 1.0);
  const std::uint64_t t0 = now_ns(Clock::wall);
  const double sum = weft::reduce(values, 0.0, std::plus<>{}, std::identity{}, 1000);
  demand(sum == 1e7, "reduce");
  return warm ? 0 : span(t0, now_ns(Clock::wall)) / 1e6;
}

// So many tasks sleep a second, all at once. Wall time of the whole.
double sleepers_ms(std::uint64_t count) {
  weft::RuntimeOptions options;
  options.workers = 2;
  weft::Runtime runtime(options);
  const std::uint64_t t0 = now_ns(Clock::wall);
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::uint64_t i = 0; i < count; ++i) n.start([] { weft::sleep(1s); });
    });
  });
  return span(t0, now_ns(Clock::wall)) / 1e6;
}

struct Parked {
  double bytes = 0;
  double ms = 0;
};
// Started, parked on a flag, looked at, woken one by one, joined.
Parked park(std::uint64_t count) {
  weft::RuntimeOptions options;
  options.workers = 2;
  weft::Runtime runtime(options);
  Parked result;
  runtime.run([&] {
    const MemoryUse before = memory_use();
    const std::uint64_t t0 = now_ns(Clock::wall);
    std::uint64_t looked = 0;
    std::atomic<std::uint32_t> open{0};
    std::vector<weft::Unparker> parked(count);
    weft::WaitGroup parking;
    parking.add(static_cast<std::int64_t>(count));
    weft::with_nursery([&](weft::Nursery& n) {
      for (weft::Unparker& mine : parked)
        n.start([&open, &mine, &parking] {
          mine = weft::unparker();
          parking.done();
          while (open.load() == 0) weft::park_if(open, 0);
        });
      parking.wait();
      const std::uint64_t t1 = now_ns(Clock::wall);
      result.bytes = (memory_use().rss_bytes - before.rss_bytes) / static_cast<double>(count);
      looked = now_ns(Clock::wall) - t1;
      open.store(1);
      for (const weft::Unparker& each : parked) each.unpark();
    });
    result.ms = span(t0 + looked, now_ns(Clock::wall)) / 1e6;
  });
  return result;
}

const Register entries[] = {
    Register(Probe{"sched", "switch", Side::weft, 15,
                   [] { return std::vector<Reading>{{"switch", "ns", in_runtime(1, switch_ns)}}; }}),
    Register(Probe{"sched", "spawn_join_1w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"spawn_join_1w", "ns", in_runtime(1, spawn_join_ns)}}; }}),
    Register(Probe{"sched", "spawn_join_2w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"spawn_join_2w", "ns", in_runtime(2, spawn_join_ns)}}; }}),
    Register(Probe{"sched", "skynet_join_1w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"skynet_join_1w", "ms", in_runtime(1, skynet_ms<skynet>)}}; }}),
    Register(Probe{"sched", "skynet_join_2w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"skynet_join_2w", "ms", in_runtime(2, skynet_ms<skynet>)}}; }}),
    Register(Probe{
        "sched", "skynet_handles_1w", Side::weft, 15,
        [] { return std::vector<Reading>{{"skynet_handles_1w", "ms", in_runtime(1, skynet_ms<skynet_handles>)}}; }}),
    Register(Probe{
        "sched", "skynet_handles_2w", Side::weft, 15,
        [] { return std::vector<Reading>{{"skynet_handles_2w", "ms", in_runtime(2, skynet_ms<skynet_handles>)}}; }}),
    Register(Probe{"sched", "skynet_par_1w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"skynet_par_1w", "ms", in_runtime(1, skynet_ms<skynet_par>)}}; }}),
    Register(Probe{"sched", "skynet_par_2w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"skynet_par_2w", "ms", in_runtime(2, skynet_ms<skynet_par>)}}; }}),
    Register(Probe{"sched", "fib_1w", Side::weft, 9,
                   [] { return std::vector<Reading>{{"fib_1w", "ns", in_runtime(1, fib_ns)}}; }}),
    Register(Probe{"sched", "fib_2w", Side::weft, 9,
                   [] { return std::vector<Reading>{{"fib_2w", "ns", in_runtime(2, fib_ns)}}; }}),
    Register(Probe{"sched", "reduce_2w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"reduce_2w", "ms", in_runtime(2, reduce_ms)}}; }}),
    Register(Probe{"sched", "sleep_100k", Side::weft, 5,
                   [] { return std::vector<Reading>{{"sleep_100k", "ms", sleepers_ms(100'000)}}; }}),
    Register(Probe{"sched", "sleep_1m", Side::weft, 3,
                   [] { return std::vector<Reading>{{"sleep_1m", "ms", sleepers_ms(1'000'000)}}; }, true}),
    Register(Probe{"sched", "park_100k", Side::weft, 3,
                   [] {
                     const Parked parked = park(100'000);
                     return std::vector<Reading>{{"park_rss_100k", "bytes", parked.bytes}};
                   }}),
    Register(Probe{"sched", "park_1m", Side::weft, 3,
                   [] {
                     const Parked parked = park(1'000'000);
                     return std::vector<Reading>{{"park_rss_1m", "bytes", parked.bytes},
                                                 {"start_park_wake_join_1m", "ms", parked.ms}};
                   },
                   true}),
};

}  // namespace
}  // namespace bench

// SPDX-License-Identifier: MIT
// Channels, as the peers' table describes the workloads. Each probe is one fresh process.
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace bench {
namespace {

using weft::Channel;

double span(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(to - from);
}
void demand(bool right, const char* what) {
  if (!right) throw std::logic_error(std::string("a wrong result in ") + what);
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

// A thousand tasks in a ring of unbuffered channels; one token. Nanoseconds per hop.
double ring_ns(bool warm) {
  constexpr std::size_t tasks = 1000;
  const std::uint64_t rounds = warm ? 10 : 1000;
  std::vector<std::unique_ptr<Channel<std::uint64_t>>> links;
  for (std::size_t i = 0; i < tasks; ++i) links.push_back(std::make_unique<Channel<std::uint64_t>>());
  std::uint64_t t0 = 0;
  double ns = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::size_t i = 1; i < tasks; ++i)
      n.start([in = links[i - 1].get(), out = links[i].get(), rounds] {
        for (std::uint64_t k = 0; k < rounds; ++k) out->send(*in->recv() + 1);
      });
    t0 = now_ns(Clock::wall);
    std::uint64_t token = 0;
    for (std::uint64_t k = 0; k < rounds; ++k) {
      links[0]->send(token + 1);
      token = *links[tasks - 1]->recv();
    }
    ns = span(t0, now_ns(Clock::wall)) / static_cast<double>(rounds * tasks);
    demand(token == rounds * tasks, "ring");
  });
  return ns;
}

// There and back by two unbuffered channels. Nanoseconds per round trip.
double pingpong_ns(bool warm) {
  const std::uint64_t rounds = warm ? 10'000 : 1'000'000;
  Channel<std::uint64_t> there, back;
  double ns = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (std::uint64_t v : there) back.send(v + 1);
    });
    std::uint64_t v = 0;
    const std::uint64_t t0 = now_ns(Clock::wall);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      there.send(v);
      v = *back.recv();
    }
    ns = span(t0, now_ns(Clock::wall)) / static_cast<double>(rounds);
    demand(v == rounds, "pingpong");
    there.close();
  });
  return ns;
}

// Million messages per second, capacity 128.
double buffered_mps(std::uint64_t senders, std::uint64_t receivers, bool warm) {
  const std::uint64_t each = (warm ? 100'000 : 8'000'000) / senders;
  Channel<std::uint64_t> ch(128);
  std::vector<std::uint64_t> sums(receivers);
  const std::uint64_t t0 = now_ns(Clock::wall);
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::uint64_t& sum : sums)
      n.start([&ch, &sum] {
        std::uint64_t mine = 0;
        while (auto v = ch.recv()) mine += *v;
        sum = mine;
      });
    weft::with_nursery([&](weft::Nursery& inner) {
      for (std::uint64_t s = 0; s < senders; ++s)
        inner.start([&ch, each] {
          for (std::uint64_t i = 0; i < each; ++i) ch.send(i);
        });
    });
    ch.close();
  });
  const double ns = span(t0, now_ns(Clock::wall));
  std::uint64_t sum = 0;
  for (const std::uint64_t one : sums) sum += one;
  demand(sum == senders * (each * (each - 1) / 2), "buffered");
  return static_cast<double>(each * senders) / ns * 1000;
}
double spsc_mps(bool warm) {
  return buffered_mps(1, 1, warm);
}
double mpmc_mps(bool warm) {
  return buffered_mps(4, 4, warm);
}
// The same by batches of up to 32.
double batched_mps(bool warm) {
  const std::uint64_t batches = warm ? 3'000 : 500'000;
  constexpr std::uint64_t size = 32;
  Channel<std::uint64_t> ch(128);
  std::uint64_t sum = 0;
  const std::uint64_t t0 = now_ns(Clock::wall);
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      std::vector<std::uint64_t> got;
      while (ch.recv_many(got, 128) != 0) {
        for (const std::uint64_t v : got) sum += v;
        got.clear();
      }
    });
    n.start([&] {
      std::uint64_t values[size];
      for (std::uint64_t i = 0; i < batches; ++i) {
        for (std::uint64_t k = 0; k < size; ++k) values[k] = k;
        (void)ch.send_many(values);
      }
      ch.close();
    });
  });
  const double ns = span(t0, now_ns(Clock::wall));
  demand(sum == batches * (size * (size - 1) / 2), "batched");
  return static_cast<double>(batches * size) / ns * 1000;
}

void skynet(Channel<std::uint64_t>& out, std::uint64_t first, std::uint64_t size) {
  if (size == 1) return out.send(first);
  Channel<std::uint64_t> in(10);
  std::uint64_t sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::uint64_t i = 0; i < 10; ++i)
      n.start([&in, first, size, i] { skynet(in, first + i * (size / 10), size / 10); });
    for (int i = 0; i < 10; ++i) sum += *in.recv();
  });
  out.send(sum);
}
double skynet_ms(bool warm) {
  const std::uint64_t size = warm ? 1000 : 1'000'000;
  Channel<std::uint64_t> out(1);
  const std::uint64_t t0 = now_ns(Clock::wall);
  skynet(out, 0, size);
  const std::uint64_t sum = *out.recv();
  const double ms = span(t0, now_ns(Clock::wall)) / 1e6;
  demand(sum == size * (size - 1) / 2, "skynet by channel");
  return ms;
}

void work_for(std::uint64_t ns) {
  const std::uint64_t until = now_ns(Clock::wall) + ns;
  while (now_ns(Clock::wall) < until) {
  }
}
// A microsecond of work at each end. Nanoseconds per message.
double pipeline_ns(bool warm) {
  const std::uint64_t count = warm ? 10'000 : 300'000;
  Channel<std::uint64_t> ch(128);
  std::uint64_t sum = 0;
  const std::uint64_t t0 = now_ns(Clock::wall);
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      while (auto v = ch.recv()) {
        work_for(1000);
        sum += *v;
      }
    });
    n.start([&] {
      for (std::uint64_t i = 0; i < count; ++i) {
        work_for(1000);
        ch.send(i);
      }
      ch.close();
    });
  });
  demand(sum == count * (count - 1) / 2, "pipeline");
  return span(t0, now_ns(Clock::wall)) / static_cast<double>(count);
}

template <unsigned workers, double (*body)(bool)>
std::vector<Reading> probe(const char* name, const char* unit) {
  return {{name, unit, in_runtime(workers, body)}};
}

const Register entries[] = {
    Register(
        Probe{"wait", "skynet_chan_2w", Side::weft, 9, [] { return probe<2, skynet_ms>("skynet_chan_2w", "ms"); }}),
    Register(Probe{"wait", "ring_1w", Side::weft, 15, [] { return probe<1, ring_ns>("ring_1w", "ns"); }}),
    Register(Probe{"wait", "ring_2w", Side::weft, 15, [] { return probe<2, ring_ns>("ring_2w", "ns"); }}),
    Register(Probe{"wait", "pingpong_1w", Side::weft, 15, [] { return probe<1, pingpong_ns>("pingpong_1w", "ns"); }}),
    Register(Probe{"wait", "pingpong_2w", Side::weft, 15, [] { return probe<2, pingpong_ns>("pingpong_2w", "ns"); }}),
    Register(Probe{"wait", "spsc", Side::weft, 15, [] { return probe<2, spsc_mps>("spsc", "M/s"); }}),
    Register(Probe{"wait", "mpmc_4x4", Side::weft, 15, [] { return probe<2, mpmc_mps>("mpmc_4x4", "M/s"); }}),
    Register(
        Probe{"wait", "spsc_batched", Side::weft, 15, [] { return probe<2, batched_mps>("spsc_batched", "M/s"); }}),
    Register(Probe{"wait", "pipeline_1w", Side::weft, 5, [] { return probe<1, pipeline_ns>("pipeline_1w", "ns"); }}),
    Register(Probe{"wait", "pipeline_2w", Side::weft, 5, [] { return probe<2, pipeline_ns>("pipeline_2w", "ns"); }}),
};

}  // namespace
}  // namespace bench

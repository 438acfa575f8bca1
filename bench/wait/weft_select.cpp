// SPDX-License-Identifier: MIT
// A select over N unbuffered channels; one other task sends to them in turn. Nanoseconds per message.
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"

namespace bench {
namespace {

template <std::size_t count>
double select_ns() {
  weft::RuntimeOptions options;
  options.workers = 2;
  weft::Runtime runtime(options);
  const auto round = [](std::uint64_t rounds) {
    std::array<weft::Channel<std::uint64_t>, count> channels;
    std::uint64_t sum = 0;
    double ns = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (std::uint64_t i = 0; i < rounds; ++i)
          for (auto& channel : channels) channel.send(i);
      });
      const std::uint64_t t0 = now_ns(Clock::wall);
      for (std::uint64_t i = 0; i < rounds * count; ++i) {
        const auto got = [&]<std::size_t... each>(std::index_sequence<each...>) {
          return weft::select(weft::op::recv(channels[each])...);
        }(std::make_index_sequence<count>());
        std::visit([&](const auto& value) { sum += *value; }, got);
      }
      ns = static_cast<double>(now_ns(Clock::wall) - t0) / static_cast<double>(rounds * count);
    });
    if (sum != count * (rounds * (rounds - 1) / 2)) throw std::logic_error("a wrong sum in select");
    return ns;
  };
  return runtime.run([&] {
    (void)round(2000);
    return round(800'000 / count);
  });
}

const Register entries[] = {
    Register(Probe{"wait", "select2", Side::weft, 15,
                   [] { return std::vector<Reading>{{"select2", "ns", select_ns<2>()}}; }}),
    Register(Probe{"wait", "select8", Side::weft, 15,
                   [] { return std::vector<Reading>{{"select8", "ns", select_ns<8>()}}; }}),
};

}  // namespace
}  // namespace bench

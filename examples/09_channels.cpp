// SPDX-License-Identifier: MIT
// Channels: values from those who make them to those who use them, and an end that both sides can see.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace {

// Numbers, squared by three workers, summed. Each stage ends when the one before it has closed its channel.
void pipeline() {
  weft::Channel<int> numbers(4);
  weft::Channel<int> squares(4);
  int sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int i = 1; i <= 100; ++i) numbers.send(i);
      numbers.close();
    });
    n.start([&] {
      weft::with_nursery([&](weft::Nursery& workers) {
        for (int w = 0; w < 3; ++w)
          workers.start([&] {
            for (const int i : numbers) squares.send(i * i);
          });
      });
      squares.close();  // all workers have ended: nobody else sends
    });
    for (const int square : squares) sum += square;
  });
  std::cout << "the sum of 100 squares is " << sum << "\n";
}

// A consumer that has seen enough closes its own end: the producer keeps what it could not send.
void enough() {
  weft::Channel<std::unique_ptr<std::string>> lines;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int i = 1;; ++i) {
        auto line = std::make_unique<std::string>("line " + std::to_string(i));
        try {
          lines.send(std::move(line));
        } catch (const weft::ChannelClosed& closed) {
          std::cout << "the producer keeps \"" << *line << "\": " << closed.reason() << "\n";
          return;
        }
      }
    });
    for (int i = 0; i < 2; ++i) std::cout << "got " << **lines.recv() << "\n";
    lines.close_recv("enough");
  });
}

}  // namespace

int main() {
  return weft::run([] {
    pipeline();
    enough();
  });
}

// SPDX-License-Identifier: MIT
// Sends five values, receives two, and destroys the channel.
#include "weft/channel.hpp"
#include "weft/runtime.hpp"

int main() {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.stall_report = false;  // what it prints is compared
  return weft::run(options, [] {
    weft::Channel<int> channel(8);
    for (int i = 0; i < 5; ++i) channel.send(i);
    (void)channel.recv();
    (void)channel.recv();
  });
}

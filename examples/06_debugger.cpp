// SPDX-License-Identifier: MIT
// A debugger is a fiber that catches debug signals. The program stops where it says so, with all its frames; the
// debugger looks at it, changes a value, and lets it go on. Interception of I/O works the same way, by the io bit.
#include <iostream>
#include <string>

#include "weft/weft.hpp"

namespace {

struct Stop {
  std::string where;
  int* variable;
};

int work(int n) {
  int total = 0;
  for (int i = 1; i <= n; ++i) {
    total += i;
    if (i == 3) weft::emit(weft::sig::debug, Stop{"work, i == 3", &total});
  }
  return total;
}

std::string read_file(const std::string& name) {
  return weft::emit(weft::sig::yield | weft::sig::io, "read " + name).as<std::string>();
}

}  // namespace

int main() {
  weft::Fiber program([] { return work(4); }, weft::SignalSet{weft::sig::debug}, {.name = "program"});
  const weft::Event* event = &program.resume();
  while (event->bits.contains(weft::sig::debug)) {
    const Stop& stop = event->value.as<Stop>();
    std::cout << "stopped in " << stop.where << ", total is " << *stop.variable << "; set to 100\n";
    *stop.variable = 100;
    event = &program.resume();
  }
  std::cout << "result: " << event->value.as<int>() << "\n";

  weft::Fiber sandbox(
      [] {
        const std::string secret = read_file("/etc/secret");
        return secret + read_file("notes");
      },
      weft::SignalSet{weft::sig::io}, {.name = "sandbox"});
  for (event = &sandbox.resume(); !event->ok();) {
    const std::string request = event->value.as<std::string>();
    const bool allowed = request.find("/etc") == std::string::npos;
    std::cout << request << ": " << (allowed ? "allowed" : "refused") << "\n";
    event = &sandbox.resume(std::string(allowed ? "[the notes]" : "[nothing]"));
  }
  std::cout << event->value.as<std::string>() << "\n";

  // Where does a suspended fiber stand? stack_of() knows, file and line included (not printed: they change).
  weft::Fiber waiting([] { weft::yield(); }, "y", {.name = "waiting"});
  waiting.resume();
  std::cout << "frames of the waiting fiber: " << (stack_of(waiting).parts.front().frames.size() > 1 ? "known" : "?")
            << "\n";
}

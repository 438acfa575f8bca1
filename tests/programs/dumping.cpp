// SPDX-License-Identifier: MIT
// A small busy server that sends itself SIGQUIT and ends when its dump has been written. With the argument "refuse" it
// has a task that ignores cancellation and shuts down with a deadline; with "leak" it leaves a task behind.
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sched/dump_signal.hpp"
#include "weft/dump.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace std::chrono_literals;

namespace {

void serve() {
  for (int i = 0; i < 3; ++i) (void)go([] { sleep(1h); }, {.name = "daemon"});
  with_nursery([](Nursery& nursery) {
    (void)nursery.spawn([] { sleep(1h); }, {.name = "reader"});
    (void)nursery.spawn(
        [] {
          with_nursery([](Nursery& inner) {
            for (int i = 0; i < 4; ++i) (void)inner.spawn([] { sleep(1h); }, {.name = "request"});
            sleep(1h);
          });
        },
        {.name = "server"});
    // Busy all the time.
    nursery.start([] {
      while (detail::signalled_dumps() == 0) yield_now();
    });
    sleep(20ms);
    std::raise(SIGQUIT);
    while (detail::signalled_dumps() == 0) sleep(1ms);
    nursery.cancel();
  });
}

[[gnu::noinline]] void stubborn_work() {
  for (;;) {
    try {
      sleep(1h);
    } catch (const Cancelled&) {
      shield([] { sleep(1h); });
    }
  }
}

int refuse() {
  RuntimeOptions options;
  options.workers = 2;
  Runtime runtime(options);
  runtime.run([] {
    (void)go([] { stubborn_work(); }, {.name = "stubborn"});
    (void)go([] { sleep(1h); }, {.name = "obedient"});
    sleep(5ms);
  });
  const bool ended = runtime.shutdown(50ms);
  std::fprintf(stderr, "shutdown said %s\n", ended ? "all ended" : "no");
  std::_Exit(ended ? 1 : 0);
}

int leak() {
  return run([] {
    (void)go([] { sleep(1h); }, {.name = "forgotten"});
    sleep(5ms);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // SIGQUIT may end it
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "refuse") return refuse();
  if (what == "leak") return leak();
  RuntimeOptions options;
  options.workers = 2;
  return run(options, [] { serve(); });
}

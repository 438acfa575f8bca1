// SPDX-License-Identifier: MIT
// A small busy server that sends itself SIGQUIT and ends when its dump has been written. With the argument "refuse" it
// has a task that ignores cancellation and shuts down with a deadline; with "leak" it leaves a task behind.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "sched/dump_signal.hpp"
#include "sched/sysmon.hpp"
#include "weft/dump.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace std::chrono_literals;

namespace {

void until_parked(const Task<void>& task) {
  for (;;) {
    const detail::TaskMoment now = task.core()->word.look();
    if (now.state() == detail::TaskState::parking && now.left() && now.reason() == detail::WakeReason::none) return;
    yield_now();
  }
}

void serve() {
  std::vector<Task<void>> sleepers;
  for (int i = 0; i < 3; ++i) sleepers.push_back(go([] { sleep(1h); }, {.name = "daemon"}));
  std::atomic<bool> served{false};
  with_nursery([&](Nursery& nursery) {
    sleepers.push_back(nursery.spawn([] { sleep(1h); }, {.name = "reader"}));
    auto server = nursery.spawn(
        [&] {
          with_nursery([&](Nursery& inner) {
            std::vector<Task<void>> requests;
            for (int i = 0; i < 4; ++i) requests.push_back(inner.spawn([] { sleep(1h); }, {.name = "request"}));
            for (const Task<void>& request : requests) until_parked(request);
            served = true;
            sleep(1h);
          });
        },
        {.name = "server"});
    // Busy all the time.
    nursery.start([] {
      while (detail::signalled_dumps() == 0) yield_now();
    });
    for (const Task<void>& sleeper : sleepers) until_parked(sleeper);
    while (!served.load()) yield_now();
    until_parked(server);
    std::raise(SIGQUIT);
    while (detail::signalled_dumps() == 0) sleep(1ms);
    nursery.cancel();
  });
}

std::atomic<bool> refused{false};

[[gnu::noinline]] void stubborn_work() {
  for (;;) {
    try {
      sleep(1h);
    } catch (const Cancelled&) {
      refused = true;
      shield([] { sleep(1h); });
    }
  }
}

int refuse() {
  RuntimeOptions options;
  options.workers = 2;
  Runtime runtime(options);
  Task<void> stubborn;
  Task<void> obedient;
  runtime.run([&] {
    stubborn = go([] { stubborn_work(); }, {.name = "stubborn"});
    obedient = go([] { sleep(1h); }, {.name = "obedient"});
    until_parked(stubborn);
    until_parked(obedient);
  });
  // A busy machine may need longer than any deadline until each of them has heard of it; the second call counts.
  (void)runtime.shutdown(50ms);
  obedient.wait();
  obedient = {};
  while (!refused.load()) std::this_thread::yield();
  until_parked(stubborn);
  std::fprintf(stderr, "shutdown again\n");
  const bool ended = runtime.shutdown(50ms);
  std::fprintf(stderr, "shutdown said %s\n", ended ? "all ended" : "no");
  std::_Exit(ended ? 1 : 0);
}

int leak() {
  return run([] {
    until_parked(go([] { sleep(1h); }, {.name = "forgotten"}));
    // And sysmon has looked at it.
    while (detail::this_worker()->runtime->sysmon->pressure().samples == 0) yield_now();
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

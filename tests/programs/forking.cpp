// SPDX-License-Identifier: MIT
// Forks while a runtime lives, in the way that its argument names, and tells how the child ended.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

#include "weft/blocking.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace {

weft::RuntimeOptions two_workers() {
  weft::RuntimeOptions options;
  options.workers = 2;
  options.stall_report = false;  // the parent waits for its child in the kernel, which may take long
  return options;
}

template <class F>
int forked(F&& in_child) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    in_child();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int tell(int status) {
  std::printf("the child ended with %d\n", status);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "yield") return weft::run(two_workers(), [] { tell(forked([] { weft::yield_now(); })); });
  if (what == "recv") {
    return weft::run(two_workers(), [] {
      weft::Channel<int> channel;
      tell(forked([&] { (void)channel.recv(); }));
    });
  }
  if (what == "read") {
    // The engine is the parent's: a child that asked it would have its answer written to an address of the parent.
    return weft::run(two_workers(), [] {
      weft::Pipe pipe = weft::make_pipe();
      char byte = 0;
      const int status = forked([&] { (void)pipe.reader.read({&byte, 1}); });
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          weft::sleep(std::chrono::milliseconds(1));
          pipe.writer.write_all("x");
        });
        if (pipe.reader.read({&byte, 1}) != 1 || byte != 'x') std::puts("the parent has read something else");
      });
      tell(status);
    });
  }
  if (what == "end") {
    // The child comes back from fork() and its task ends like any other.
    return weft::run(two_workers(), [] {
      std::fflush(stdout);
      const pid_t child = fork();
      if (child == 0) return;
      int status = 0;
      while (waitpid(child, &status, 0) < 0) {
      }
      tell(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    });
  }
  if (what == "exec") {
    return weft::run(two_workers(), [] {
      tell(weft::blocking([] { return forked([] { execl("/bin/true", "true", static_cast<char*>(nullptr)); }); }));
      tell(forked([] { execl("/bin/false", "false", static_cast<char*>(nullptr)); }));
    });
  }
  auto runtime = std::make_unique<weft::Runtime>(two_workers());
  runtime->run([&] {
    weft::Pipe pipe = weft::make_pipe();  // it has an engine now
    char byte = 0;
    (void)pipe.reader.read_result({&byte, 1}, std::chrono::steady_clock::now());
  });
  if (what == "thread_recv") {
    weft::Channel<int> channel;
    return tell(forked([&] { (void)channel.recv(); }));
  }
  if (what == "run") return tell(forked([&] { runtime->run([] {}); }));
  if (what == "destroy") return tell(forked([&] { runtime.reset(); }));
  if (what == "none") {
    runtime.reset();
    return tell(forked([] { weft::run(two_workers(), [] { weft::yield_now(); }); }));
  }
  std::puts("usage: forking yield|recv|read|end|exec|thread_recv|run|destroy|none");
  return 2;
}

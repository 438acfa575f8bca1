// SPDX-License-Identifier: MIT
// deadlock raise|report|maybe: nothing can run any more. What the process says and how it ends is the test. "report" is
// ended by SIGALRM, and "maybe" goes on, a while after it has said something: long enough to say it once more.
#include "weft/deadlock.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;

namespace {

// What goes to stderr from now on comes by this pipe.
class Ear {
 public:
  Ear() : stderr_(dup(2)) {
    int ends[2];
    if (stderr_ < 0 || pipe(ends) != 0 || dup2(ends[1], 2) < 0) _exit(3);
    close(ends[1]);
    read_ = ends[0];
  }
  // Passes everything on until the text was in it. False: the others have ended.
  bool await(const char* text) {
    while (heard_.find(text) == std::string::npos)
      if (!pass_on()) return false;
    return true;
  }
  bool pass_on() {
    char block[4096];
    const ssize_t got = read(read_, block, sizeof block);
    if (got <= 0) return false;
    heard_.append(block, static_cast<std::size_t>(got));
    return write(stderr_, block, static_cast<std::size_t>(got)) == got;
  }

 private:
  int stderr_;
  int read_ = -1;
  std::string heard_;
};

constexpr const char* verdict = "deadlock: nothing";

// A process of its own: a thread would be one that nobody knows.
void end_after_report() {
  Ear ear;
  const pid_t parent = getpid();
  if (fork() != 0) return;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(2);
  if (!ear.await(verdict)) _exit(1);
  std::this_thread::sleep_for(1500ms);
  (void)kill(parent, SIGALRM);
  while (ear.pass_on()) continue;
  _exit(0);
}

}  // namespace

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  weft::RuntimeOptions options;
  options.workers = 2;
  if (std::strcmp(what, "report") == 0) {
    options.deadlock = weft::RuntimeOptions::OnDeadlock::report;
    end_after_report();
  }
  weft::SyncEvent event;
  std::thread stranger;
  if (std::strcmp(what, "maybe") == 0)
    stranger = std::thread([&, ear = Ear()]() mutable {
      if (!ear.await("maybe a deadlock")) return;
      std::this_thread::sleep_for(2500ms);
      event.set();
      while (ear.pass_on()) continue;
    });
  const int code = weft::exit_on_deadlock([&] {
    return weft::run(options, [&] {
      event.wait();
      return 7;
    });
  });
  if (stranger.joinable()) {
    close(2);  // nothing more will be said
    stranger.join();
  }
  return code;
}

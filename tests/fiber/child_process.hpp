// SPDX-License-Identifier: MIT
// What: runs a program of tests/programs/ and tells how it ended and what it said. For things that a test cannot do to
// itself: dying, running out of memory, starting with a bad environment.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "test_places.hpp"
#include "weft/detail/tools.hpp"

namespace weft_test {

struct Outcome {
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  std::string output;  // both streams
  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
};

// WEFT_TEST_EMULATOR may be empty.
inline bool emulated() {
  return std::string(WEFT_TEST_EMULATOR) != "";
}

// No emulator, no memory tool: what the process uses is what the library uses.
inline bool plain_run() {
  const char* preload = std::getenv("LD_PRELOAD");
  const bool valgrind = preload != nullptr && std::string(preload).find("vgpreload") != std::string::npos;
  return !valgrind && !emulated() && !WEFT_ASAN && !WEFT_TSAN;
}

// Tests scale with this: the workshop sets it in ./dev test --full.
inline bool full_run() {
  const char* text = std::getenv("WEFT_TEST_FULL");
  return text != nullptr && *text != '\0' && *text != '0';
}

// environment: "NAME=value", added to the present one.
inline Outcome run_command(std::vector<std::string> command, const std::vector<std::string>& environment = {}) {
  int ends[2];
  Outcome outcome;
  if (pipe2(ends, O_CLOEXEC) != 0) return outcome;
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    outcome.output = std::string("fork: ") + std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return outcome;
  }
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    // A shell's background job, or a test before this one, may ignore them; what is ignored stays so.
    for (const int each : {SIGINT, SIGQUIT, SIGPIPE, SIGTERM}) signal(each, SIG_DFL);
    for (const std::string& entry : environment) {
      const std::size_t at = entry.find('=');
      setenv(entry.substr(0, at).c_str(), entry.substr(at + 1).c_str(), 1);
    }
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.output.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

inline Outcome run_program(const char* name, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment = {}) {
  std::vector<std::string> command;
  std::string word;
  for (const char c : std::string(WEFT_TEST_EMULATOR) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      command.push_back(std::exchange(word, {}));
    }
  }
  command.push_back(std::string(WEFT_TEST_PROGRAMS) + "/" + name);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(std::move(command), environment);
}

}  // namespace weft_test

// SPDX-License-Identifier: MIT
// What: programs as children: their streams, their end, and their death when nobody waits for them any more.
//
//   weft::Process sort = weft::Process::start("/usr/bin/sort", {"-r"}, {.in = weft::ProcessStream::pipe, .out =
//   weft::ProcessStream::pipe}); sort.in().write_all("a\nb\n"); sort.in().close();
//   ... sort.out().read(room) ...
//   const weft::ExitStatus status = sort.wait();
//
// wait() that is cancelled kills the child, reaps it and raises; so does the destructor of one that was not waited for.
// Threads: one at a time waits; streams and kill any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/stream.hpp"

namespace weft::inline v0 {

enum class ProcessStream : std::uint8_t { inherit, null, pipe };

struct ProcessOptions {
  ProcessStream in = ProcessStream::inherit;
  ProcessStream out = ProcessStream::inherit;
  ProcessStream err = ProcessStream::inherit;
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; else ours
};

struct ExitStatus {
  int code = 0;    // if it has ended by itself
  int signal = 0;  // that killed it
  bool ok() const { return code == 0 && signal == 0; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

class Process {
 public:
  Process() = default;
  Process(Process&& from) noexcept;
  Process& operator=(Process&& from) noexcept;
  ~Process();  // kills and reaps, unless it was waited for or detached

  // `program`: a path, or a name that is looked for in PATH. Throws std::system_error.
  static Process start(const std::string& program, const std::vector<std::string>& arguments = {},
                       const ProcessOptions& options = {});

  int pid() const { return pid_; }
  Stream& in() { return in_; }    // what it reads
  Stream& out() { return out_; }  // what it writes
  Stream& err() { return err_; }

  ExitStatus wait() { return wait_until(never); }
  ExitStatus wait_for(std::chrono::nanoseconds span);  // errc::timed_out: it lives on
  ExitStatus wait_until(Deadline deadline);
  void kill(int signal);  // nothing happens if it has ended
  void kill();
  void detach();  // nobody waits for it any more

 private:
  void end() noexcept;
  bool reap() noexcept;  // false: it runs

  int pid_ = 0;
  bool ended_ = true;
  ExitStatus status_;
  detail::Descriptor handle_;  // pidfd
  Stream in_;
  Stream out_;
  Stream err_;
};

}  // namespace weft::inline v0

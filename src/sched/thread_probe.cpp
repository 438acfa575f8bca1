// SPDX-License-Identifier: MIT
#include "sched/thread_probe.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "base/sys.hpp"
#include "base/text_writer.hpp"

namespace weft::inline v0::detail {
namespace {

// The state is the letter after the name, which stands in parentheses and may hold any character, ')' too.
char state_letter(std::string_view line) {
  const std::size_t end = line.rfind(')');
  return end != std::string_view::npos && end + 2 < line.size() ? line[end + 2] : '\0';
}

ThreadActivity activity_of(char letter) {
  switch (letter) {
    case 'S':  // sleeps until an event or a signal
    case 'D':  // sleeps until an event
    case 'T':  // stopped
    case 't':  // stopped by a tracer
      return ThreadActivity::in_syscall;
    case 'Z':
    case 'X':
    case 'x':
      return ThreadActivity::gone;
    default:
      return ThreadActivity::running;
  }
}

}  // namespace

const char* to_string(ThreadActivity activity) {
  switch (activity) {
    case ThreadActivity::running:
      return "running";
    case ThreadActivity::in_syscall:
      return "in_syscall";
    case ThreadActivity::gone:
      return "gone";
  }
  return "?";
}

ThreadActivity probe_thread(long tid) noexcept {
  char path[64];
  TextWriter out(path);
  out.text("/proc/self/task/").decimal(tid).text("/stat").character('\0');
  const long fd = sys::open(path, O_RDONLY | O_CLOEXEC);
  if (sys::is_error(fd)) return sys::error_of(fd) == ENOENT ? ThreadActivity::gone : ThreadActivity::running;
  char line[512];
  const long length = sys::read(static_cast<int>(fd), line, sizeof line);
  sys::close(static_cast<int>(fd));
  if (sys::error_of(length) == ESRCH) return ThreadActivity::gone;
  if (length <= 0) return ThreadActivity::running;
  return activity_of(state_letter(std::string_view(line, static_cast<std::size_t>(length))));
}

}  // namespace weft::inline v0::detail

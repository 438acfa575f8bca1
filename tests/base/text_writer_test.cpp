// SPDX-License-Identifier: MIT
#include "base/text_writer.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <string>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "weft/detail/assert.hpp"

using namespace weft::detail;

namespace {

template <class Fill>
std::string written(Fill fill) {
  char room[256];
  TextWriter out(room);
  fill(out);
  return std::string(out.view());
}

std::string duration(std::int64_t ns) {
  return written([ns](TextWriter& out) { out.duration(ns); });
}

// Answers write calls: interrupted, then three bytes, then all, and so on.
struct FaultyPipe {
  std::string received;
  int calls = 0;
  int fail_at = -1;

  static bool answer(const sys::Call& call, long* result, void* context) {
    auto* self = static_cast<FaultyPipe*>(context);
    if (call.number != SYS_write) return false;
    const int now = self->calls++;
    if (now == self->fail_at) {
      *result = -EPIPE;
    } else if (now % 3 == 0) {
      *result = -EINTR;
    } else {
      const auto length = static_cast<std::size_t>(call.args[2]);
      const std::size_t taken = now % 3 == 1 && length > 3 ? 3 : length;
      self->received.append(reinterpret_cast<const char*>(call.args[1]), taken);  // NOLINT(performance-no-int-to-ptr)
      *result = static_cast<long>(taken);
    }
    return true;
  }
};

}  // namespace

TEST_CASE("text writer: words, numbers and addresses") {
  CHECK(written([](TextWriter& out) { out.text("task ").decimal(-42).character('/').unsigned_decimal(7).line(); }) ==
        "task -42/7\n");
  CHECK(written([](TextWriter& out) { out.decimal(0); }) == "0");
  CHECK(written([](TextWriter& out) { out.decimal(std::numeric_limits<std::int64_t>::min()); }) ==
        "-9223372036854775808");
  CHECK(written([](TextWriter& out) { out.unsigned_decimal(~std::uint64_t{0}); }) == "18446744073709551615");
  CHECK(written([](TextWriter& out) { out.hex(0).character(' ').hex(0xbeef).character(' ').hex(0xa, 4); }) ==
        "0 beef 000a");
  CHECK(written([](TextWriter& out) { out.hex(~std::uint64_t{0}, 99); }) == "ffffffffffffffff");
  CHECK(written([](TextWriter& out) { out.pointer(nullptr); }) == "0x0000000000000000");
  CHECK(written([](TextWriter& out) { out.text(static_cast<const char*>(nullptr)); }) == "(null)");
}

TEST_CASE("text writer: durations keep three places and never round up") {
  CHECK(duration(0) == "0ns");
  CHECK(duration(999) == "999ns");
  CHECK(duration(1'000) == "1.00us");
  CHECK(duration(1'599) == "1.59us");
  CHECK(duration(12'345) == "12.3us");
  CHECK(duration(999'999) == "999us");
  CHECK(duration(1'050'000) == "1.05ms");
  CHECK(duration(100'000'000'000) == "100s");
  CHECK(duration(-2'000'000'000) == "-2.00s");
  CHECK(duration(std::numeric_limits<std::int64_t>::min()) == "-9223372036s");
}

TEST_CASE("text writer: what does not fit is cut, marked, and nothing is written outside the buffer") {
  for (std::size_t size = 0; size < 40; ++size) {
    CAPTURE(size);
    std::array<char, 64> room{};
    room.fill('#');
    TextWriter out(std::span<char>(room).subspan(10, size));
    for (int round = 0; round < 2; ++round) {
      out.clear();
      out.text("0123456789").decimal(1234567890).text("!");
      const std::string whole = "01234567891234567890!";
      const std::string mark(TextWriter::cut_mark);
      if (size < mark.size()) {
        CHECK(out.view().empty());
        CHECK(out.was_cut());
      } else if (size - mark.size() >= whole.size()) {
        CHECK(out.view() == whole);
        CHECK_FALSE(out.was_cut());
      } else {
        CHECK(out.view() == whole.substr(0, size - mark.size()) + mark);
        CHECK(out.was_cut());
      }
    }
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (i < 10 || i >= 10 + size) REQUIRE(room[i] == '#');
    }
  }
}

TEST_CASE("text writer: interrupted and short writes are continued, errors reported") {
  char room[128];
  TextWriter out(room);
  out.text("the quick brown fox jumps over the lazy dog");
  FaultyPipe pipe;
  sys::set_interceptor(FaultyPipe::answer, &pipe);
  const bool done = out.write_to(1);
  sys::set_interceptor(nullptr, nullptr);
  CHECK(done);
  CHECK(pipe.received == out.view());
  CHECK(pipe.calls > 2);

  FaultyPipe broken;
  broken.fail_at = 2;
  sys::set_interceptor(FaultyPipe::answer, &broken);
  const bool failed = !out.write_to(1);
  sys::set_interceptor(nullptr, nullptr);
  CHECK(failed);
  CHECK(broken.received == "the");
}

TEST_CASE("text writer: a failed assertion writes one line that names text, condition and place, then aborts") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    // Seen, but not died of: an emulator or a core dump would add lines of its own.
    std::signal(SIGABRT, [](int) { _exit(77); });
    dup2(ends[1], 2);
    assert_failed("the queue was empty", "size > 0", "queue.cpp", 17);
  }
  REQUIRE(child > 0);
  close(ends[1]);
  std::string text;
  char part[64];
  for (ssize_t length = 0; (length = read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(length));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(text == "weft: the queue was empty (size > 0) at queue.cpp:17\n");
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 77);
}

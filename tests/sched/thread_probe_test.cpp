// SPDX-License-Identifier: MIT
#include "sched/thread_probe.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <thread>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/patience.hpp"

using namespace weft;
using namespace weft::detail;

namespace doctest {
template <>
struct StringMaker<ThreadActivity> {
  static String convert(ThreadActivity activity) { return to_string(activity); }
};
}  // namespace doctest

namespace {

// Until the thread is seen in that state; else what it was seen in last.
ThreadActivity await_activity(long tid, ThreadActivity wanted) {
  ThreadActivity seen{};
  (void)weft_test::eventually([&] { return (seen = probe_thread(tid)) == wanted; });
  return seen;
}

// A thread that sits in read(2) until it is destroyed.
class Reader {
 public:
  explicit Reader(const char* name) {
    REQUIRE(pipe(ends_) == 0);
    thread_ = std::thread([this, name] {
      pthread_setname_np(pthread_self(), name);
      tid_.store(sys::gettid());
      char byte = 0;
      (void)!read(ends_[0], &byte, 1);
    });
    while (tid_.load() == 0) std::this_thread::yield();
  }
  ~Reader() {
    release();
    close(ends_[0]);
    close(ends_[1]);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  long tid() const { return tid_.load(); }
  void release() {
    if (!thread_.joinable()) return;
    (void)!write(ends_[1], "x", 1);
    thread_.join();
  }

 private:
  int ends_[2] = {-1, -1};
  std::atomic<long> tid_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("thread probe: a thread in read(2) is in a syscall, and gone when it has ended") {
  Reader reader("reader");
  CHECK(await_activity(reader.tid(), ThreadActivity::in_syscall) == ThreadActivity::in_syscall);
  for (int i = 0; i < 100; ++i) CHECK(probe_thread(reader.tid()) == ThreadActivity::in_syscall);
  reader.release();
  CHECK(await_activity(reader.tid(), ThreadActivity::gone) == ThreadActivity::gone);
}

TEST_CASE("thread probe: a thread that computes is running, at every look") {
  if (!weft_test::plain_run()) return;  // valgrind makes threads wait for each other in the kernel
  std::atomic<long> tid{0};
  std::atomic<std::uint64_t> spins{0};
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    tid.store(sys::gettid());
    while (!stop.load(std::memory_order_relaxed)) spins.fetch_add(1, std::memory_order_relaxed);
  });
  while (spins.load() == 0) std::this_thread::yield();  // its pages are there
  for (int i = 0; i < 2'000; ++i) REQUIRE(probe_thread(tid.load()) == ThreadActivity::running);
  stop.store(true);
  thread.join();
}

TEST_CASE("thread probe: whoever asks about itself is running") {
  CHECK(probe_thread(sys::gettid()) == ThreadActivity::running);
}

TEST_CASE("thread probe: a name that looks like a state is not taken for one") {
  Reader reader("a) R 1 (b");
  CHECK(await_activity(reader.tid(), ThreadActivity::in_syscall) == ThreadActivity::in_syscall);
}

TEST_CASE("thread probe: numbers that name no thread of this process are gone") {
  CHECK(probe_thread(std::numeric_limits<int>::max()) == ThreadActivity::gone);
  CHECK(probe_thread(std::numeric_limits<long>::max()) == ThreadActivity::gone);
  CHECK(probe_thread(std::numeric_limits<long>::min()) == ThreadActivity::gone);
  CHECK(probe_thread(0) == ThreadActivity::gone);
  CHECK(probe_thread(1) == ThreadActivity::gone);  // lives, but elsewhere
}

namespace {

struct Fault {
  long number;
  long result;
};

ThreadActivity probe_with(Fault fault, long tid) {
  sys::set_interceptor(
      [](const sys::Call& call, long* result, void* context) {
        const Fault& planned = *static_cast<Fault*>(context);
        if (call.number != planned.number) return false;
        *result = planned.result;
        return true;
      },
      &fault);
  const ThreadActivity activity = probe_thread(tid);
  sys::set_interceptor(nullptr, nullptr);
  return activity;
}

}  // namespace

TEST_CASE("thread probe: if the kernel cannot be asked a thread counts as running, so nobody is added for it") {
  Reader reader("reader");
  CHECK(await_activity(reader.tid(), ThreadActivity::in_syscall) == ThreadActivity::in_syscall);
  CHECK(probe_with({SYS_openat, -EMFILE}, reader.tid()) == ThreadActivity::running);
  CHECK(probe_with({SYS_openat, -EACCES}, reader.tid()) == ThreadActivity::running);
  CHECK(probe_with({SYS_read, -EIO}, reader.tid()) == ThreadActivity::running);
  CHECK(probe_with({SYS_read, 0}, reader.tid()) == ThreadActivity::running);
  CHECK(probe_with({SYS_read, -ESRCH}, reader.tid()) == ThreadActivity::gone);  // it ended between open and read
}

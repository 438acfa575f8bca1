// SPDX-License-Identifier: MIT
#include "weft/detail/seam.hpp"

#include <doctest/doctest.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <type_traits>
#include <vector>

#include "base/sys.hpp"

namespace seam = weft::seam;
namespace sys = weft::detail::sys;

namespace {

// Answers one syscall number with an error for as long as it lives.
class Refusing {
 public:
  Refusing(long number, int error, long first_argument = -1)
      : number_(number), error_(error), first_argument_(first_argument) {
    sys::set_interceptor(&Refusing::answer, this);
  }
  ~Refusing() { sys::set_interceptor(nullptr, nullptr); }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
  int refused() const { return refused_; }

 private:
  static bool answer(const sys::Call& call, long* result, void* context) {
    auto* self = static_cast<Refusing*>(context);
    if (call.number != self->number_) return false;
    if (self->first_argument_ >= 0 && call.args[0] != self->first_argument_) return false;
    ++self->refused_;
    *result = -self->error_;
    return true;
  }

  long number_;
  int error_;
  long first_argument_;
  int refused_ = 0;
};

template <class Lock>
long count_under_lock(int threads, int rounds) {
  Lock lock;
  long count = 0;
  std::vector<seam::Thread> running;
  for (int i = 0; i < threads; ++i) {
    running.push_back(seam::Thread::start("counter", [&] {
      for (int round = 0; round < rounds; ++round) {
        std::lock_guard guard(lock);
        count = count + 1;
      }
    }));
  }
  for (auto& thread : running) thread.join();
  return count;
}

std::int64_t thread_cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

static_assert(std::is_same_v<seam::Atomic<int>, std::atomic<int>>, "the normal build pays nothing for the seam");

TEST_CASE("seam: both locks exclude more threads than there are cores") {
  CHECK(count_under_lock<seam::SpinLock>(6, 20'000) == 120'000);
  CHECK(count_under_lock<seam::Mutex>(6, 20'000) == 120'000);
}

TEST_CASE("seam: try_lock fails on a held lock and works on a free one") {
  seam::SpinLock spin;
  CHECK(spin.try_lock());
  CHECK_FALSE(spin.try_lock());
  spin.unlock();
  CHECK(spin.try_lock());
  spin.unlock();
  seam::Mutex mutex;
  CHECK(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("seam: a waiter on a spin lock whose holder does not run burns no core [B40]") {
  seam::SpinLock lock;
  lock.lock();
  std::int64_t burnt = 0;
  std::atomic<bool> started{false};
  auto waiter = seam::Thread::start("waiter", [&] {
    started = true;
    lock.lock();
    lock.unlock();
    burnt = thread_cpu_ns();
  });
  while (!started) seam::yield_thread();
  seam::sleep_ns(300'000'000);  // the holder is "stopped" for 300 ms
  lock.unlock();
  waiter.join();
  CHECK(burnt < 100'000'000);
}

TEST_CASE("seam: futex_wait tells a changed word from a passed deadline") {
  seam::Atomic<std::uint32_t> word{1};
  CHECK(seam::futex_wait(word, 0, seam::no_deadline) == seam::WaitResult::changed);
  const std::int64_t deadline = seam::monotonic_ns() + 5'000'000;
  seam::WaitResult result;
  do {
    result = seam::futex_wait(word, 1, deadline);
  } while (result == seam::WaitResult::woken);
  CHECK(result == seam::WaitResult::timed_out);
  CHECK(seam::monotonic_ns() >= deadline);
  CHECK(seam::futex_wait(word, 1, -5) == seam::WaitResult::timed_out);
}

TEST_CASE("seam: futex_wake wakes a sleeping thread and says how many") {
  seam::Atomic<std::uint32_t> word{0};
  auto sleeper = seam::Thread::start("sleeper", [&] {
    while (word.load(std::memory_order_acquire) == 0) seam::futex_wait(word, 0, seam::no_deadline);
  });
  CHECK(seam::futex_wake(word, 1) <= 1);
  word.store(1, std::memory_order_release);
  seam::futex_wake(word, 1);
  sleeper.join();
  CHECK(seam::futex_wake(word, 1) == 0);
}

TEST_CASE("seam: the monotonic clock does not go back, seeds differ, even where getrandom is refused") {
  const std::int64_t before = seam::monotonic_ns();
  CHECK(seam::monotonic_ns() >= before);
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(seam::random_seed());
  Refusing refusing(SYS_getrandom, ENOSYS);
  for (int i = 0; i < 8; ++i) seeds.insert(seam::random_seed());
  CHECK(refusing.refused() == 8);
  CHECK(seeds.size() == 16);
}

// Runs first of the fence tests by its place in this file: the change of kind is for the life of the process.
TEST_CASE("seam: where membarrier is missing or forbidden both sides keep real fences [B46]") {
  REQUIRE(seam::fence_kind() == seam::FenceKind::real);
  for (int error : {ENOSYS, EPERM}) {
    Refusing refusing(SYS_membarrier, error);
    CHECK_FALSE(seam::enable_asymmetric_fences());
    CHECK(refusing.refused() == 1);
    seam::heavy_fence();
    CHECK(refusing.refused() == 1);  // a heavy fence does not even ask
  }
  {
    // Registration passes, the barrier itself is filtered.
    Refusing refusing(SYS_membarrier, EPERM, MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    CHECK_FALSE(seam::enable_asymmetric_fences());
    CHECK(refusing.refused() == 1);
  }
  CHECK(seam::fence_kind() == seam::FenceKind::real);
}

namespace {

// The other side may have to share our core.
void wait_for(const std::atomic<int>& word, int value) {
  for (int spins = 0; word.load(std::memory_order_acquire) != value; ++spins) {
    spins < 200 ? seam::pause() : seam::yield_thread();
  }
}

// Two threads store, fence and look at the other's store, a batch of rounds at a time. Counts the rounds in which both
// missed it [SEAM-2].
long both_missed(int batches) {
  constexpr std::size_t rounds = 256;
  struct alignas(64) Line {
    std::atomic<int> word{0};
    int seen = 0;  // of the other's word
  };
  std::vector<Line> left(rounds);
  std::vector<Line> right(rounds);
  std::atomic<int> started{0};
  std::atomic<int> finished{0};
  long missed = 0;
  auto light = seam::Thread::start("light", [&] {
    for (int batch = 1; batch <= batches; ++batch) {
      wait_for(started, batch);
      for (std::size_t i = 0; i < rounds; ++i) {
        left[i].word.store(1, std::memory_order_relaxed);
        seam::light_fence();
        left[i].seen = right[i].word.load(std::memory_order_relaxed);
      }
      finished.store(batch, std::memory_order_release);
    }
  });
  for (int batch = 1; batch <= batches; ++batch) {
    for (std::size_t i = 0; i < rounds; ++i) {
      left[i].word.store(0, std::memory_order_relaxed);
      right[i].word.store(0, std::memory_order_relaxed);
    }
    started.store(batch, std::memory_order_release);
    for (std::size_t i = 0; i < rounds; ++i) {
      right[i].word.store(1, std::memory_order_relaxed);
      seam::heavy_fence();
      right[i].seen = left[i].word.load(std::memory_order_relaxed);
    }
    wait_for(finished, batch);
    for (std::size_t i = 0; i < rounds; ++i) missed += left[i].seen == 0 && right[i].seen == 0 ? 1 : 0;
  }
  light.join();
  return missed;
}

}  // namespace

TEST_CASE("seam: of a light and a heavy fence at least one side sees the other's store [B46]") {
  CHECK(both_missed(1'200) == 0);
  if (!seam::enable_asymmetric_fences()) {
    MESSAGE("membarrier is not to be had here: the asymmetric half was not run");
    return;
  }
  CHECK(seam::fence_kind() == seam::FenceKind::asymmetric);
  CHECK(seam::enable_asymmetric_fences());
  CHECK(both_missed(150) == 0);
}

TEST_CASE("sys: an error comes back as a negated errno and errno stays untouched") {
  errno = 77;
  const long closed = sys::close(-1);
  CHECK(sys::is_error(closed));
  CHECK(sys::error_of(closed) == EBADF);
  CHECK(errno == 77);
  const long mapped = sys::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  REQUIRE_FALSE(sys::is_error(mapped));
  auto* bytes = reinterpret_cast<char*>(mapped);
  bytes[8191] = 'x';
  CHECK(sys::mprotect(bytes, 4096, PROT_NONE) == 0);
  CHECK(sys::write(-1, bytes + 4096, 1) == -EBADF);
  CHECK(sys::munmap(bytes, 8192) == 0);
  CHECK(sys::error_of(sys::mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS)) == EINVAL);
  CHECK(errno == 77);
}

TEST_CASE("sys: an interceptor can fail any call") {
  Refusing refusing(SYS_mmap, ENOMEM);
  CHECK(sys::error_of(sys::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS)) == ENOMEM);
  CHECK(refusing.refused() == 1);
}

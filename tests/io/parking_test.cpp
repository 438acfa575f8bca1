// SPDX-License-Identifier: MIT
// What a task does between the moment it may be woken and the moment its stack is left.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "sched/records.hpp"
#include "weft/channel.hpp"
#include "weft/detail/stack.hpp"
#include "weft/detail/tools.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/pipe.hpp"
#include "weft/select.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
namespace detail = weft::detail;

namespace {

struct Calls {
  std::atomic<int> on_a_stack{0};  // of a task
  std::atomic<int> parking{0};
};

void count(Calls& calls) {
  if (detail::slot_shift_of[detail::stack_pointer() >> detail::chunk_shift] == 0) return;
  ++calls.on_a_stack;
  const detail::TaskCore* task = detail::this_task();
  if (task != nullptr && task->word.look().state() == detail::TaskState::parking) ++calls.parking;
}

bool look(const detail::sys::Call&, long*, void* context) {
  count(*static_cast<Calls*>(context));
  return false;
}

std::atomic<Calls*> allocations{nullptr};  // null: nobody asks

// Sanitizers have operators of their own.
constexpr bool counts_allocations = !WEFT_ASAN && !WEFT_TSAN;

#if !WEFT_ASAN && !WEFT_TSAN
void* allocate(std::size_t size, std::size_t alignment) {
  if (Calls* calls = allocations) count(*calls);
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, whole != 0 ? whole : alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
#endif

}  // namespace

#if !WEFT_ASAN && !WEFT_TSAN
// The library's other forms come to these.
void* operator new(std::size_t size) {
  return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
#endif

// With one worker: a queue that a thief holds may be waited for.
TEST_CASE("park: no call of the system between PARKING and the next stack, whatever is waited for [HB18]") {
  for (const IoEngine engine : engines()) {
    Calls calls;
    detail::sys::set_interceptor(look, &calls);
    {
      weft::Runtime runtime(with_engine(engine, 1));
      runtime.run([] {
        weft::Channel<int> channel;
        weft::Channel<int> never;
        weft::Mutex mutex;
        weft::Pipe pipe = weft::make_pipe();
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] {
            for (int i = 0; i < 200; ++i) channel.send(i);
          });
          n.start([&] {
            for (int i = 0; i < 100; ++i) (void)channel.recv();
            for (int i = 0; i < 100; ++i) (void)weft::select(weft::op::recv(channel), weft::op::recv(never));
          });
          n.start([&] {
            for (int i = 0; i < 50; ++i) weft::sleep(10us);  // its own timer may be over before it has left
          });
          for (int k = 0; k < 2; ++k)
            n.start([&] {
              for (int i = 0; i < 50; ++i) {
                const std::lock_guard guard(mutex);
                weft::yield_now();
              }
            });
          n.start([&] {
            char byte = 0;
            for (int i = 0; i < 50; ++i) (void)pipe.reader.read({&byte, 1});
          });
          n.start([&] {
            for (int i = 0; i < 50; ++i) {
              pipe.writer.write_all("x");
              weft::yield_now();
            }
          });
        });
      });
    }
    detail::sys::set_interceptor(nullptr, nullptr);
    CHECK(calls.on_a_stack.load() > 0);  // it does look: the pipe's calls are made there
    CHECK(calls.parking.load() == 0);
  }
}

TEST_CASE("park: nothing is allocated between PARKING and the next stack, for a piece of par neither [HB18]") {
  Calls calls;
  Calls allocated;
  detail::sys::set_interceptor(look, &calls);
  {
    weft::Runtime runtime(workers(1));
    runtime.run([&] {
      weft::go([] { weft::sleep(1us); }).wait();  // leaves a stack to the next
      allocations = &allocated;
      for (int i = 0; i < 8; ++i) {
        weft::with_nursery([&](weft::Nursery& n) {
          // Ended, and their records not free: there is none for a piece that its forker does not run itself.
          std::vector<weft::Task<void>> held;
          while (detail::this_worker()->free_count != 0 || detail::record_stats().pooled != 0) {
            held.push_back(n.spawn([] {}));
            held.back().wait();
          }
          bool ran = false;
          (void)weft::par([&] { ran = true; }, [] { weft::sleep(10us); });
          CHECK(ran);
        });
      }
      allocations = nullptr;
    });
  }
  detail::sys::set_interceptor(nullptr, nullptr);
  if (counts_allocations) CHECK(allocated.on_a_stack.load() > 0);
  CHECK(allocated.parking.load() == 0);
  CHECK(calls.parking.load() == 0);
}

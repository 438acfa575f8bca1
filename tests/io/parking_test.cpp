// SPDX-License-Identifier: MIT
// What a task does between the moment it may be woken and the moment its stack is left.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/channel.hpp"
#include "weft/detail/stack.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
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

bool look(const detail::sys::Call&, long*, void* context) {
  auto& calls = *static_cast<Calls*>(context);
  if (detail::slot_shift_of[detail::stack_pointer() >> detail::chunk_shift] == 0) return false;
  ++calls.on_a_stack;
  const detail::TaskCore* task = detail::this_task();
  if (task != nullptr && task->word.look().state() == detail::TaskState::parking) ++calls.parking;
  return false;
}

}  // namespace

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
    CHECK(calls.on_a_stack > 0);  // it does look: the pipe's calls are made there
    CHECK(calls.parking == 0);
  }
}

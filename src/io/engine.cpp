// SPDX-License-Identifier: MIT
#include "io/engine.hpp"

#include <mutex>

#include "base/sys.hpp"
#include "io/kernel.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/run_blocking.hpp"

namespace weft::inline v0::detail {
namespace {

bool is_refusal(long error) {
  return error == -ENOSYS || error == -EPERM || error == -EINVAL || error == -EACCES || error == -ENOMEM;
}

std::unique_ptr<Engine> make_engine(RuntimeCore& runtime, long& error) {
  using Kind = RuntimeOptions::IoEngine;
  const Kind wish = runtime.options.io;
  if (wish != Kind::epoll) {
    if (auto engine = make_uring_engine(runtime, error)) return engine;
    if (wish == Kind::uring || !is_refusal(error)) return nullptr;
  }
  return make_epoll_engine(runtime, error);
}

}  // namespace

Engine* make_engine_of(RuntimeCore& runtime, long& error) {
  const std::lock_guard guard(runtime.poller_mutex);
  if (Poller* there = runtime.poller.load(std::memory_order_acquire)) return static_cast<Engine*>(there);
  std::unique_ptr<Engine> engine = make_engine(runtime, error);
  if (engine == nullptr) return nullptr;
  Engine* made = engine.get();
  runtime.install(std::move(engine));
  return made;
}

IoResult perform_on_pool(const IoRequest& request, Raise raise) {
  struct Call : BlockingCall {
    const IoRequest* request = nullptr;
    long result = 0;
  };
  Call call;
  call.request = &request;
  call.run = [](BlockingCall* base) {
    auto& mine = static_cast<Call&>(*base);
    do {
      mine.result = call_kernel(*mine.request);
    } while (mine.result == -EINTR && !cancel_requested());
  };
  run_blocking(call, raise);
  if (call.withdrawn || call.result == -EINTR) {
    if (raise == Raise::yes) raise_if_cancelled(*task_here());
    return IoResult::failed(ECANCELED);
  }
  return IoResult(call.result);
}

bool ready_into(RuntimeCore& runtime, TaskCore* task, Chain& into) {
  return task->word.deliver() == TaskWord::Queue::you && gather_ready(runtime, task, into);
}

}  // namespace weft::inline v0::detail

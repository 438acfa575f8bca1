// SPDX-License-Identifier: MIT
// A cancel by a task of a worker: those whose waits it ends, and which may run there, are made ready while it walks and
// queued in one step afterwards (ADR 0018) - against one that is about to park, a waker, and a thief. The request, the
// tree, the words and the queue are the real ones.
#include <array>
#include <cstdint>
#include <memory>

#include "explorer/registry.hpp"
#include "sched/dispatch.hpp"
#include "sched/runtime_core.hpp"
#include "sched/scope.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

using detail::TaskState;
using detail::TaskWord;
using detail::WakeReason;

enum : std::size_t { waits, is_woken, parks_now, count };

struct Stage {
  explicit Stage(World& world)
      : runtime(world.make<detail::RuntimeCore>("runtime", options())),
        nursery(world.make<detail::NurseryCore>("nursery")) {
    detail::cancel_epoch.store(1, std::memory_order_relaxed);  // the process's: each execution begins alike
    (void)detail::current_core();
    detail::thread_root()->worker = &runtime.worker(0);  // the canceller's; nobody else asks for it
    world.at_end([] { detail::thread_root()->worker = nullptr; });
    runtime.worker(0).plain = true;  // as where fences are asymmetric and nobody checks
    nursery.runtime = &runtime;
    nursery.scope.clean_epoch.store(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
      tasks[i] = &world.make<detail::TaskCore>("task");
      tasks[i]->nursery = &nursery;
      tasks[i]->scope = &nursery.scope;
      tasks[i]->word.make_fresh();
      (void)tasks[i]->word.run_on(2);
      queued[i] = &world.make<seam::Atomic<int>>("queued", 0);
      detail::register_task(*tasks[i]);
    }
    for (const std::size_t i : {std::size_t{waits}, std::size_t{is_woken}}) {
      tickets[i] = tasks[i]->word.begin_park();
      (void)tasks[i]->word.leave();
    }
  }

  // Found in a queue, or put into one that is not here.
  void found(const detail::TaskCore* task) {
    for (std::size_t i = 0; i < count; ++i) {
      if (tasks[i] != task) continue;
      check(task->word.look().state() == TaskState::runnable, "in a queue, and not ready");
      check(queued[i]->fetch_add(1, std::memory_order_relaxed) == 0, "queued twice");
      return;
    }
    check(false, "somebody else's task");
  }
  // Its first wait, which only a cancel can end.
  void park() {
    detail::TaskCore& task = *tasks[parks_now];
    (void)task.word.begin_park();
    seam::light_fence();
    if (detail::requested_for(task).scope != nullptr &&
        task.word.claim_own(WakeReason::cancel) == TaskWord::Claimed::yes) {
      check(task.word.stay() == WakeReason::cancel, "ended by something else");
      queued[parks_now]->store(1, std::memory_order_relaxed);
      return;
    }
    if (task.word.leave() != TaskWord::Queue::you) return;
    task.word.make_runnable();
    found(&task);
  }
  void wake() {
    detail::TaskCore& task = *tasks[is_woken];
    if (task.word.wake(tickets[is_woken], WakeReason::data) != TaskWord::Wake::queue_it) return;
    task.word.make_runnable();
    found(&task);
  }
  void steal() {
    detail::Chain stolen;
    (void)runtime.worker(0).ready.steal(stolen, count, false);
    while (const detail::Entry entry = stolen.pop_front()) found(entry.as<detail::TaskCore>());
  }
  void drain() {
    while (const detail::Entry entry = runtime.worker(0).ready.pop(true)) found(entry.as<detail::TaskCore>());
    for (const auto* times : queued) check(times->load(std::memory_order_relaxed) == 1, "its wait was not ended");
  }

  detail::RuntimeCore& runtime;
  detail::NurseryCore& nursery;
  std::array<detail::TaskCore*, count> tasks{};
  std::array<detail::Ticket, count> tickets{};
  std::array<seam::Atomic<int>*, count> queued{};

 private:
  static RuntimeOptions options() {
    RuntimeOptions wanted;
    wanted.workers = wanted.max_workers = 1;
    wanted.queue_capacity = 2;
    wanted.sysmon = false;
    wanted.seed = 1;
    return wanted;
  }
};

enum class Against { park_and_wake, thief };

template <Against against>
void cancel(World& world) {
  auto stage = std::make_shared<Stage>(world);
  world.thread("canceller", [stage] {
    check(detail::stays_on(stage->runtime.worker(0), *stage->tasks[waits]), "they go another way");
    detail::request_scope(stage->nursery.scope, CancelReason::user);
  });
  world.thread("parker", [stage] { stage->park(); });
  if constexpr (against == Against::park_and_wake) world.thread("waker", [stage] { stage->wake(); });
  if constexpr (against == Against::thief) world.thread("thief", [stage] { stage->steal(); });
  world.finally([stage] { stage->drain(); });
}

const Register a{{.name = "cancel wakes: of a worker's own, one that parks, a waker [B1] [B3] [V-026]",
                  .run = cancel<Against::park_and_wake>}};
const Register b{
    {.name = "cancel wakes: of a worker's own, one that parks, a thief [B1] [B3]", .run = cancel<Against::thief>}};

}  // namespace
}  // namespace weft::inline v0::verify

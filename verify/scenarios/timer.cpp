// SPDX-License-Identifier: MIT
// One timer node per task against wheels of several workers: armed by the task, fired by a worker or by who rescues it,
// left armed, moved, put back and forgotten, over the real wheel, lock and word. What arm, fire and forget do is
// written here as src/sched does it.
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "sched/owner_lock.hpp"
#include "sched/timer_wheel.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::verify {
namespace {

using detail::TaskMoment;
using detail::TaskState;
using detail::TaskWord;
using detail::Ticket;
using detail::TimerNode;
using detail::TimerWheel;
using detail::WakeReason;

// What callers can do wrong.
enum class Slip { none, trusts_its_place, clears_place_late, forgets_unlocked, drops_late_ones, fires_any_wait };

constexpr std::int64_t tick = TimerWheel::tick_ns;

struct Worker {
  detail::OwnerLock lock;
  TimerWheel wheel;
  Plain<int> touched{0};  // written whenever the wheel is
};

struct Task {
  TaskWord word;
  TimerNode timer;
  seam::Atomic<unsigned> place{0};
  seam::Atomic<std::int64_t> deadline{seam::no_deadline};
  seam::Atomic<std::uint32_t> queued{0};
  std::int64_t fired_at = 0;  // told by who wakes it by the timer

  Task() { word.make_fresh(), (void)word.run_on(1); }
};

template <Slip slip>
struct Stage {
  explicit Stage(World& world) : task(world.make<Task>("task")) {
    for (auto& worker : workers) worker = &world.make<Worker>("worker");
  }

  void lock(unsigned worker, bool own) {
    own ? workers[worker]->lock.lock_owner() : workers[worker]->lock.lock_other();
    workers[worker]->touched.write(1);
  }
  void unlock(unsigned worker, bool own) {
    own ? workers[worker]->lock.unlock_owner() : workers[worker]->lock.unlock_other();
  }

  void arm(unsigned here, std::int64_t deadline) {
    while (const unsigned place = task.place.load(std::memory_order_acquire)) {
      const unsigned there = place - 1;
      lock(there, there == here);
      const bool still_there = slip == Slip::trusts_its_place || task.place.load(std::memory_order_relaxed) == place;
      const bool keep = still_there && task.timer.deadline <= deadline;
      if (still_there && !keep) workers[there]->wheel.remove(task.timer);
      unlock(there, there == here);
      if (keep) return;
      if (still_there) break;
    }
    lock(here, true);
    task.place.store(here + 1, std::memory_order_relaxed);
    workers[here]->wheel.insert(task.timer, deadline);
    unlock(here, true);
  }

  void forget(unsigned here) {
    while (const unsigned place = task.place.load(std::memory_order_acquire)) {
      const unsigned there = place - 1;
      if (slip == Slip::forgets_unlocked) {
        workers[there]->touched.write(1);
      } else {
        lock(there, there == here);
      }
      if (task.place.load(std::memory_order_relaxed) == place) {
        workers[there]->wheel.remove(task.timer);
        task.place.store(0, std::memory_order_relaxed);
      }
      if (slip != Slip::forgets_unlocked) unlock(there, there == here);
    }
  }

  void enqueue() {
    check(task.word.look().left(), "queued before its stack was left");
    task.word.make_runnable();
    check(task.queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(task.queued, 1);
  }

  void fire(unsigned owner, bool own, std::int64_t now) {
    bool queue = false;
    bool late = false;
    bool fired = false;
    lock(owner, own);
    workers[owner]->wheel.advance(now, [&](TimerNode&) {
      const TaskMoment moment = task.word.look();
      const std::int64_t deadline = task.deadline.load(std::memory_order_relaxed);
      const bool parking = moment.state() == TaskState::parking;
      if (parking && deadline > now && deadline != seam::no_deadline && slip != Slip::fires_any_wait) {
        late = true;  // armed for an earlier wait; the present one ends later
        if (slip == Slip::drops_late_ones) task.place.store(0, std::memory_order_release);
        return;
      }
      fired = true;
      if (slip != Slip::clears_place_late) task.place.store(0, std::memory_order_release);
      if (parking && (deadline <= now || slip == Slip::fires_any_wait))
        queue = task.word.wake(moment.ticket(), WakeReason::timeout) == TaskWord::Wake::queue_it;
    });
    if (late && slip != Slip::drops_late_ones)
      workers[owner]->wheel.insert(task.timer, task.deadline.load(std::memory_order_relaxed));
    unlock(owner, own);
    if (fired && slip == Slip::clears_place_late) task.place.store(0, std::memory_order_release);
    if (!queue) return;
    task.fired_at = now;
    enqueue();
  }

  // The first wait.
  void wake_by_data() {
    if (task.word.wake(Ticket{1}, WakeReason::data) == TaskWord::Wake::queue_it) enqueue();
  }

  // A wait on worker `here`; it goes on on whichever.
  WakeReason wait(unsigned here, std::int64_t deadline) {
    task.deadline.store(deadline, std::memory_order_relaxed);
    const Ticket ticket = task.word.begin_park();
    arm(here, deadline);
    begun.store(static_cast<unsigned>(ticket.number), std::memory_order_release);
    if (task.word.leave() == TaskWord::Queue::you) enqueue();  // by the successor, once the stack is left
    while (task.queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(task.queued, 0, seam::no_deadline);
    const WakeReason reason = task.word.run_on(2);
    if (reason == WakeReason::timeout) check(task.fired_at >= deadline || task.fired_at == 0, "woken too early");
    task.fired_at = 0;
    return reason;
  }
  // Until the task's wait of that number is armed: from then on its worker, or another, looks at the wheel.
  void until_armed(unsigned number) {
    while (begun.load(std::memory_order_acquire) < number) seam::pause();
  }

  void at_end(World& world) {
    world.finally([this] {
      check(!task.timer.armed(), "an ended task's timer is left in a wheel");
      for (Worker* worker : workers) check(worker->wheel.empty(), "a wheel is not empty");
    });
  }

  // The worker gives its timers to another and ends.
  void hand_over(unsigned from, unsigned to) {
    lock(from, true);
    if (!workers[from]->wheel.empty()) {
      lock(to, false);
      workers[from]->wheel.remove(task.timer);
      task.place.store(to + 1, std::memory_order_relaxed);
      workers[to]->wheel.insert(task.timer, task.timer.deadline);
      unlock(to, false);
    }
    unlock(from, true);
  }

  Task& task;
  std::array<Worker*, 2> workers{};
  seam::Atomic<unsigned> begun{0};
};

// One timed wait; a wake comes at the same time as the timer. Woken on another worker, the task ends there and forgets
// the timer in the first one's wheel.
template <Slip slip, bool woken = true>
void timeout_meets_wake(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  world.thread("task", [stage] {
    const WakeReason reason = stage->wait(0, 5 * tick);
    check(reason == WakeReason::timeout || reason == WakeReason::data, "woken by nobody");
    stage->forget(1);
  });
  world.thread("worker 0", [stage] {
    stage->until_armed(1);
    stage->fire(0, true, 6 * tick);
  });
  if (woken) world.thread("waker", [stage] { stage->wake_by_data(); });
  stage->at_end(world);
}

// The first wait is ended by data; the second, on another worker, ends earlier than the first would have: the timer
// moves from wheel to wheel while the first worker fires it.
template <Slip slip>
void moved_while_it_fires(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  world.thread("task", [stage] {
    (void)stage->wait(0, 10 * tick);
    check(stage->wait(1, 5 * tick) == WakeReason::timeout, "nothing else ends it");
    stage->forget(1);
  });
  world.thread("worker 0", [stage] {
    stage->until_armed(1);
    stage->fire(0, true, 12 * tick);
  });
  world.thread("rescuer", [stage] {
    stage->until_armed(1);
    stage->wake_by_data();
    stage->until_armed(2);
    stage->fire(1, false, 12 * tick);
  });
  stage->at_end(world);
}

// The second wait is longer than the first: the timer stays where it is, fires too early and is put back.
template <Slip slip>
void put_back(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  world.thread("task", [stage] {
    (void)stage->wait(0, 5 * tick);
    check(stage->wait(1, 20 * tick) == WakeReason::timeout, "nothing else ends it");
    stage->forget(1);
  });
  world.thread("waker", [stage] {
    stage->until_armed(1);
    stage->wake_by_data();
  });
  world.thread("rescuer", [stage] {
    stage->fire(0, false, 10 * tick);
    stage->until_armed(2);
    stage->fire(0, false, 30 * tick);
    stage->fire(1, false, 30 * tick);
  });
  stage->at_end(world);
}

// A worker ends and gives its timers away while the task that stands there ends, or arms again.
template <Slip slip, bool arms_again>
void handed_over(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  world.thread("task", [stage] {
    (void)stage->wait(0, 10 * tick);
    if (arms_again) check(stage->wait(1, 5 * tick) == WakeReason::timeout, "nothing else ends it");
    stage->forget(1);
  });
  world.thread("worker 0", [stage] {
    stage->until_armed(1);
    stage->hand_over(0, 1);
  });
  world.thread("rescuer", [stage] {
    stage->until_armed(1);
    stage->wake_by_data();
    if (!arms_again) return;
    stage->until_armed(2);
    stage->fire(1, false, 12 * tick);
  });
  stage->at_end(world);
}

const Register a{{.name = "timer: a timeout meets a wake [B16]", .run = timeout_meets_wake<Slip::none>}};
const Register b{
    {.name = "timer: it moves to another wheel while it fires [B17]", .run = moved_while_it_fires<Slip::none>}};
const Register c{{.name = "timer: fired for an earlier wait it is put back [B16]", .run = put_back<Slip::none>}};
const Register d{
    {.name = "timer: its wheel is handed over while its task ends [B17]", .run = handed_over<Slip::none, false>}};
const Register e{
    {.name = "timer: its wheel is handed over while its task arms again [B17]", .run = handed_over<Slip::none, true>}};
const Register f{{.name = "timer: it fires while its task ends, store buffers [B16]",
                  .run = timeout_meets_wake<Slip::none, false>,
                  .preemptions = 1,
                  .delays = 1,
                  .asymmetric = true}};

const Register m1{{.name = "mutant: timer is armed where it was, without a second look",
                   .run = put_back<Slip::trusts_its_place>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: timer loses its place after its wheel was unlocked",
                   .run = put_back<Slip::clears_place_late>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: timer is forgotten without the lock",
                   .run = timeout_meets_wake<Slip::forgets_unlocked>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: timer that fired too early is not put back",
                   .run = put_back<Slip::drops_late_ones>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: timer of an earlier wait ends a later one",
                   .run = put_back<Slip::fires_any_wait>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
// Relaxed: what is set up before threads start is published by starting them; counters are statistics; `running` and
// `closed` order nothing but themselves beyond the acquire and release that stand there.
#include "weft/runtime.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "base/sys.hpp"
#include "fiber/failure.hpp"
#include "fiber/fp_words.hpp"
#include "fiber/options.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/director.hpp"
#include "sched/dispatch.hpp"
#include "sched/dump.hpp"
#include "sched/dump_signal.hpp"
#include "sched/foreign_loop.hpp"
#include "sched/fork.hpp"
#include "sched/hand_over.hpp"
#include "sched/in_place.hpp"
#include "sched/intercept.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtimes.hpp"
#include "sched/scope.hpp"
#include "sched/search.hpp"
#include "sched/sysmon.hpp"
#include "sched/task_end.hpp"
#include "sched/thread_worker.hpp"
#include "sched/tracer.hpp"
#include "weft/deadlock.hpp"
#include "weft/detail/point.hpp"
#include "weft/dump.hpp"
#include "weft/fiber.hpp"
#include "weft/lock_check.hpp"

namespace weft::inline v0 {
namespace detail {

const char* to_string(WorkerState state) {
  switch (state) {
    case WorkerState::unborn:
      return "UNBORN";
    case WorkerState::active:
      return "ACTIVE";
    case WorkerState::idle_spin:
      return "IDLE_SPIN";
    case WorkerState::sleep:
      return "SLEEP";
    case WorkerState::draining:
      return "DRAINING";
    case WorkerState::dead:
      return "DEAD";
  }
  return "?";
}

namespace {

// The calling thread becomes this worker.
class AsWorker {
 public:
  explicit AsWorker(Worker& worker) : worker_(worker), root_(thread_root()) {
    previous_task_ = root_->task;
    root_->task = nullptr;
    root_->worker = &worker;
    set_thread_worker(&worker);
    worker.loop = current_core();  // not always the root: a fiber may call run
    fp_words_note(worker.loop);
    worker.thread_eh = root_->thread_eh;
    worker.carrier = root_->carrier;
    worker.carrier->interrupts = &worker.runtime->interrupts;
    worker.carrier->interrupted_in_place = is_interrupted_in_place;
    worker.carrier->open_shield = open_cleanup_shield;
    worker.carrier->close_shield = close_cleanup_shield;
    worker.thread_id.store(sys::gettid(), std::memory_order_relaxed);
    worker.now.store(seam::monotonic_ns(), std::memory_order_relaxed);
    // It counts from here, not from when it enters its loop: what is launched before may want to move to it.
    worker.state.store(WorkerState::idle_spin, std::memory_order_relaxed);
    worker.runtime->idle.add_worker();
  }
  ~AsWorker() {
    fp_words_recall(worker_.loop);  // whatever tasks have done to them: for its caller run() is a call
    hand_over(worker_);
    RuntimeCore& runtime = *worker_.runtime;
    runtime.idle.remove_worker();
    // Who pushed while this worker searched, or moved it from its sleep, woke nobody else: it may leave without a look.
    seam::fence(std::memory_order_seq_cst);  // pairs with inject's
    // And it may have been the one inside the poller [POLL-2].
    if (!runtime.global.empty() || runtime.poller.load(std::memory_order_relaxed) != nullptr) {
      if (IdleNode* node = runtime.idle.wake_one(false)) IdleSet::notify(*node);
    }
    while (worker_.core_count > 0) destroy_virtual_core(*worker_.carrier, worker_.cores[--worker_.core_count]);
    worker_.carrier->interrupts = nullptr;
    give_all_records(&worker_);
    root_->worker = nullptr;
    set_thread_worker(nullptr);
    forget_own_task();
    root_->task = previous_task_;
    ++worker_.counters.entered[static_cast<unsigned>(WorkerState::dead)];
    worker_.state.store(WorkerState::dead, std::memory_order_release);  // the place may be taken again
  }
  AsWorker(const AsWorker&) = delete;
  AsWorker& operator=(const AsWorker&) = delete;

 private:
  // Who waited on the worker's own stack, where what never got a stack dies, has made this thread a task.
  void forget_own_task() {
    if (root_->task == nullptr) return;
    auto* const at_end = root_->carrier->at_end;
    drop_thread_task();
    if (previous_task_ != nullptr) root_->carrier->at_end = at_end;  // for that one
  }

  Worker& worker_;
  FiberCore* root_;
  TaskCore* previous_task_;
};

}  // namespace

RuntimeCore::RuntimeCore(const RuntimeOptions& resolved)
    : options(resolved), global(resolved.queue_capacity), live(resolved.max_workers) {
  untraced_type.store(&typeid(Cancelled), std::memory_order_relaxed);
  if (options.spec_assert) spec_assertions = true;
  watch_forks();
  undelivered_told.store(undelivered_values(), std::memory_order_relaxed);
  root_scope.clean_epoch.store(cancel_epoch.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (options.check_locks) check_locks(true);
  read_options();
  if (options.clock == RuntimeOptions::Clock::virtual_) virtual_time = std::make_unique<VirtualTime>();
  if (options.dump_signal) dump_signal = std::make_unique<DumpSignal>();
  tracer = tracer_from_environment(options.max_workers);
  const bool asymmetric = seam::enable_asymmetric_fences();
  Splitmix64 seeds(options.seed);
  workers.reserve(options.max_workers);
  for (unsigned i = 0; i < options.max_workers; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->index = i;
    worker->running = TaskWord::running_on(i + 1);
    worker->runtime = this;
    worker->idle = &idle.summary();
    worker->steals = options.policy == RuntimeOptions::Policy::steal;
    worker->own_queues = worker->steals && !options.migration_check;
    worker->in_place = options.in_place && worker->steals;
    worker->checked = options.spec_assert;
    worker->trace = tracer != nullptr ? tracer->ring(i) : nullptr;
    worker->watched = worker->checked || worker->trace != nullptr || option_watermark;
    worker->plain = worker->own_queues && !worker->watched && asymmetric;
    if (worker->trace != nullptr || option_watermark) worker->in_place = false;  // each on a stack of its own
    worker->flat = worker->in_place && asymmetric;
    worker->unseen = worker->steals && worker->trace == nullptr;
    worker->random = Random(seeds.next());
    worker->idle_node.worker = worker.get();
    workers.push_back(std::move(worker));
  }
  worker_count.store(options.workers, std::memory_order_release);
  for (unsigned i = 1; i < options.workers; ++i) {
    try {
      start_thread(i);
    } catch (...) {
      stop_threads();
      throw RuntimeError(RuntimeErrc::no_threads, "the system refuses to start worker " + std::to_string(i) + " of " +
                                                      std::to_string(options.workers) +
                                                      "; ask for fewer with WEFT_WORKERS or RuntimeOptions::workers");
    }
  }
  if (options.sysmon) {
    sysmon = std::make_unique<Sysmon>(*this);
    if (!sysmon->start()) sysmon.reset();
  }
  add_runtime(*this);  // complete: sysmons of other runtimes look at it from here on
}

RuntimeCore::~RuntimeCore() {
  remove_runtime(*this);
}

void RuntimeCore::start_thread(unsigned index) {
  Worker& mine = worker(index);
  mine.thread = seam::Thread::start("weft-worker", [&mine] {
    const AsWorker as(mine);
    worker_loop(mine, Until::stopped);
  });
}

unsigned RuntimeCore::threads() const {
  unsigned count = 0;
  for (const auto& each : workers) {
    const WorkerState state = each->state.load(std::memory_order_relaxed);
    count += state != WorkerState::unborn && state != WorkerState::dead;
  }
  return count;
}

void RuntimeCore::stop_threads() {
  if (sysmon != nullptr) sysmon->stop();  // it starts no more workers
  stopping.store(true, std::memory_order_seq_cst);
  for (const auto& each : workers) {
    if (!each->thread.joinable()) continue;
    IdleSet::notify(each->idle_node);
    each->thread.join();
  }
  if (blocking != nullptr) blocking->stop();
}

void launch(RuntimeCore& runtime, Worker* worker, TaskCore* task, bool young) {
  if (worker != nullptr && worker->runtime != &runtime) worker = nullptr;
  const Entry entry(task, entry_task);
  if (task->flags & task_pinned) {
    const unsigned home = worker != nullptr && !worker->temporary  // [WKR-4]
                              ? worker->index
                              : runtime.next_home.fetch_add(1, std::memory_order_relaxed) % runtime.options.workers;
    task->pinned_to = static_cast<std::uint16_t>(home);
  }
  if (task->strand != nullptr) return enter_strand(runtime, worker, task);
  if (task->flags & task_pinned) return push_pinned(runtime, worker, task);
  if (young && worker != nullptr) return push_young(worker, entry);
  inject(runtime, entry);
  if (worker != nullptr) point("spawn");
}

void refuse_nested_run() {
  throw RuntimeError(RuntimeErrc::nested_run, "run inside a task: use with_nursery or go there, or weft::blocking");
}

namespace {

[[noreturn]] void refuse_closed() {
  throw RuntimeError(RuntimeErrc::shut_down, "this runtime has been shut down; it takes no more tasks");
}

}  // namespace

TaskCore* take_detached(RuntimeCore& runtime) {
  if (is_fork_child()) refuse_fork_child();
  if (runtime.closed.load(std::memory_order_acquire)) refuse_closed();
  WorkerCore* worker = this_worker();
  return worker != nullptr ? take_record(worker) : take_shared_record();
}

void launch_detached_in(RuntimeCore& runtime, TaskCore* task) {
  try {
    may_spawn();
  } catch (...) {
    abandon_task(task);
    throw;
  }
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker != nullptr && worker->runtime != &runtime) worker = nullptr;
  task->nursery = nullptr;
  task->scope = task->birth = &runtime.root_scope;
  task->life.store(0, std::memory_order_relaxed);
  task->id = worker != nullptr ? task_id_for(worker) : fresh_task_ids(nullptr);
  task->root = nullptr;
  runtime.live.started(worker != nullptr ? worker->index : runtime.live.outside());
  if (worker == nullptr) {
    // Counted first, looked second; shutdown closes first and counts second. So it waits for this task, or refuses it.
    seam::fence(std::memory_order_seq_cst);
    if (runtime.closed.load(std::memory_order_relaxed)) {
      runtime.live.finished(runtime.live.outside());
      IdleSet::notify(runtime.worker(0).idle_node);  // who drains may have counted it
      abandon_task(task);
      refuse_closed();
    }
  }
  task->bindings = snapshot_bindings();
  launch(runtime, worker, task, false);
}

TaskCore* take_detached_record() {
  WorkerCore* worker = this_worker();
  if (worker == nullptr)
    throw RuntimeError(RuntimeErrc::not_in_task,
                       "weft::go outside of a task: call it inside weft::run, or use Runtime::go");
  TaskCore* task = take_record(worker);
  task->life.store(life_ended, std::memory_order_relaxed);  // until it is filled
  task->flags = 0;
  return task;
}

void launch_detached(TaskCore* task) {
  may_spawn(task);
  auto* worker = static_cast<Worker*>(this_worker());
  RuntimeCore& runtime = *worker->runtime;
  task->nursery = nullptr;
  task->scope = task->birth = &runtime.root_scope;
  task->life.store(0, std::memory_order_relaxed);
  task->bindings = snapshot_bindings();
  task->id = task_id_for(worker);
  task->root = worker->loop;  // until it starts: which runtime it belongs to
  runtime.live.started(worker->index);
  launch(runtime, worker, task, false);
}

int exit_code(const Runtime& runtime, int code) {
  return code == 0 && runtime.detached_failures() != 0 ? 1 : code;
}

std::size_t stack_wish(const TaskCore& task) {
  return static_cast<std::size_t>(task.deadline.load(std::memory_order_relaxed));
}

}  // namespace detail

using namespace detail;

Runtime::Runtime(const RuntimeOptions& options)
    : core_(std::make_unique<RuntimeCore>(options_from_environment(options))) {}

Runtime::~Runtime() {
  if (is_fork_child()) {
    [[maybe_unused]] const RuntimeCore* left = core_.release();  // its threads are not here to be waited for
    return;
  }
  if (this_worker() == nullptr) {
    (void)shutdown();
  } else {
    // Inside a task of another runtime: a thread of its own waits, and this worker blocks meanwhile.
    seam::Thread::start("weft-shutdown", [this] { (void)shutdown(); }).join();
  }
  if (core_->tracer != nullptr) (void)core_->tracer->write();
  if (core_->options.stats) sys::write_all(2, "weft: a runtime has ended; its counters:\n" + stats_text());
}

TaskCore* Runtime::take() {
  return take_detached(*core_);
}

void Runtime::give_back(TaskCore* task) noexcept {
  free_record(task);
}

void Runtime::launch(TaskCore* task) {
  launch_detached_in(*core_, task);
}

namespace {

// While it lives, a deadlock of the main task is looked for.
class WatchedMain {
 public:
  WatchedMain(RuntimeCore& runtime, TaskCore* task) : runtime_(runtime) {
    const std::lock_guard guard(runtime_.deadlock_mutex);
    runtime_.deadlock_report.clear();
    runtime_.deadlock_told_again = false;
    runtime_.main_task.store(task, std::memory_order_relaxed);
  }
  ~WatchedMain() {
    const std::lock_guard guard(runtime_.deadlock_mutex);
    runtime_.main_task.store(nullptr, std::memory_order_relaxed);
  }
  WatchedMain(const WatchedMain&) = delete;
  WatchedMain& operator=(const WatchedMain&) = delete;

 private:
  RuntimeCore& runtime_;
};

}  // namespace

void Runtime::drive(TaskCore* task) {
  if (this_worker() != nullptr) {
    abandon_task(task);
    refuse_nested_run();
  }
  bool free = false;
  if (!core_->running.compare_exchange_strong(free, true, std::memory_order_acquire)) {
    abandon_task(task);
    throw RuntimeError(RuntimeErrc::busy, "another thread is in run() of this runtime; use go() from here");
  }
  core_->run_done.store(0, std::memory_order_relaxed);
  Worker& worker = core_->worker(0);
  try {
    const AsWorker as(worker);
    if (core_->closed.load(std::memory_order_acquire)) {
      abandon_task(task);
      refuse_closed();
    }
    task->flags |= task_main;
    const WatchedMain watched(*core_, task);
    launch(task);
    worker_loop(worker, Until::main_done);
  } catch (...) {
    core_->running.store(false, std::memory_order_release);
    throw;
  }
  core_->running.store(false, std::memory_order_release);
  if (core_->options.deadlock != RuntimeOptions::OnDeadlock::raise) return;
  std::string report;
  {
    const std::lock_guard guard(core_->deadlock_mutex);
    report = std::move(core_->deadlock_report);
  }
  if (!report.empty()) throw Deadlock(report);
}

namespace detail {

void drive_directed(RuntimeCore& runtime) {
  if (this_worker() != nullptr) refuse_nested_run();
  bool free = false;
  if (!runtime.running.compare_exchange_strong(free, true, std::memory_order_acquire))
    throw RuntimeError(RuntimeErrc::busy, "another thread drives this runtime");
  {
    Worker& mine = runtime.worker(0);
    mine.look_mask.store(0, std::memory_order_relaxed);  // [DIR-1]
    const AsWorker as(mine);
    directed_loop(mine);
  }
  runtime.running.store(false, std::memory_order_release);
}

}  // namespace detail

using Time = std::chrono::steady_clock::time_point;

Time RuntimeCore::poll(Time deadline) {
  if (this_worker() != nullptr)
    throw RuntimeError(RuntimeErrc::nested_run, "poll inside a task: it is for the thread that drives the runtime");
  bool free = false;
  if (!running.compare_exchange_strong(free, true, std::memory_order_acquire))
    throw RuntimeError(RuntimeErrc::busy, "another thread is in run() or poll() of this runtime");
  ForeignLoop* loop = foreign.load(std::memory_order_acquire);
  if (loop != nullptr) loop->silence();
  poll_deadline = deadline_at(deadline);
  std::int64_t next = seam::no_deadline;
  {
    Worker& mine = worker(0);
    const AsWorker as(mine);
    worker_loop(mine, Until::polled);
  }
  for (const auto& each : workers) next = std::min(next, each->next_timer.load(std::memory_order_acquire));
  if (virtual_time != nullptr) next = virtual_time->earliest();
  if ((sysmon != nullptr && sysmon->carries()) || !global.empty()) next = time_of(*this);  // [SYSM-4]
  if (Poller* engine = poller.load(std::memory_order_acquire)) {
    engine->flush();
    if (loop != nullptr) loop->watch(engine);
  }
  running.store(false, std::memory_order_release);
  return next == seam::no_deadline ? Time::max() : Time(std::chrono::nanoseconds(next));
}

Time Runtime::poll(Time deadline) {
  return core_->poll(deadline);
}

void Runtime::run_until_idle() {
  // From one deadline to the next: what a deadline is for happens in the poll that waits for it.
  for (Time next = core_->poll(Time::min()); next != Time::max();) next = core_->poll(next);
}

int Runtime::descriptor() {
  const std::lock_guard guard(core_->blocking_mutex);
  if (core_->foreign_owner == nullptr) {
    auto loop = std::make_unique<ForeignLoop>();
    if (loop->descriptor() < 0) return -1;
    core_->foreign_owner = std::move(loop);
    core_->foreign.store(core_->foreign_owner.get(), std::memory_order_release);
    core_->foreign_owner->ring();  // for what came before
  }
  return core_->foreign_owner->descriptor();
}

bool Runtime::shutdown(std::chrono::nanoseconds limit) {
  if (this_worker() != nullptr) throw RuntimeError(RuntimeErrc::nested_run, "shutdown inside a task: leave run first");
  RuntimeCore& core = *core_;
  const std::int64_t deadline = limit == std::chrono::nanoseconds::max() ? seam::no_deadline : deadline_after(limit);
  core.closed.store(true, std::memory_order_seq_cst);
  if (core.options.leak_report) report_left_over(core);
  request_scope(core.root_scope, CancelReason::shutdown);
  // Worker 0 is whoever is in run(), or in here.
  for (bool free = false; !core.running.compare_exchange_strong(free, true, std::memory_order_acquire); free = false) {
    if (seam::monotonic_ns() >= deadline) {
      report_refusers(core);
      return false;
    }
    seam::sleep_ns(50'000);
  }
  core.draining.store(true, std::memory_order_seq_cst);
  bool all_ended = false;
  // A spawn from outside that is refused counts for a moment: only a deadline ends the wait before everything has.
  while (!(all_ended = core.live.none_alive()) && seam::monotonic_ns() < deadline) {
    Worker& worker = core.worker(0);
    const AsWorker as(worker);
    // Whoever waits without end wants to know for whom.
    constexpr std::int64_t report_every = 5'000'000'000;
    core.drain_deadline = std::min(deadline, seam::monotonic_ns() + report_every);
    worker_loop(worker, Until::drained);
    if (core.drain_deadline != deadline && !core.live.none_alive()) {
      report_refusers(core);
      core.drain_deadline = deadline;
      worker_loop(worker, Until::drained);
    }
  }
  if (all_ended) {
    core.stop_threads();
    core.visitors.wait_for_none();
  } else {
    report_refusers(core);
  }
  core.running.store(false, std::memory_order_release);
  return all_ended;
}

void Runtime::interrupt() noexcept {
  core_->interrupts.raise();
}

const RuntimeOptions& Runtime::options() const {
  return core_->options;
}

Io& Runtime::io() {
  return *core_;
}

unsigned Runtime::detached_failures() const {
  return core_->detached_failures.load(std::memory_order_relaxed);
}

void sleep(std::chrono::nanoseconds span) {
  (void)sleep_until_ns(deadline_after(span), Raise::yes);
}

void sleep_until(std::chrono::steady_clock::time_point when) {
  (void)sleep_until_ns(deadline_at(when), Raise::yes);
}

WaitResult sleep_result(std::chrono::steady_clock::time_point when) noexcept {
  return sleep_until_ns(deadline_at(when), Raise::quietly);
}

void yield_now() {
  yield_and_look();
}

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
// Relaxed: sizes and ticks are compared with themselves [DEAD-1].
#include "sched/deadlock.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/peek.hpp"
#include "base/sys.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/director.hpp"
#include "sched/records.hpp"
#include "sched/runtimes.hpp"
#include "sched/scope.hpp"
#include "sched/sysmon.hpp"
#include "sched/waits.hpp"
#include "weft/blocking_io.hpp"
#include "weft/deadlock.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

constexpr std::int64_t patience = 20'000'000;        // [DEAD-3]
constexpr std::int64_t maybe_after = 1'000'000'000;  // and at each doubling while only threads might do something
constexpr unsigned most_looks = 6;
constexpr std::uint64_t most_listed = 1000;  // tasks, in a report that is no error

seam::Atomic<std::uint32_t> external_waits{0};

// Up through the scopes; by peek, for others run on. Limited, for what is read may be torn.
bool is_born_under(const TaskCore& task, const ScopeCore& root) {
  const ScopeCore* scope = nullptr;
  const NurseryCore* nursery = nullptr;
  if (!peek(&nursery, &task.nursery, sizeof nursery) || !peek(&scope, &task.birth, sizeof scope)) return false;
  if (nursery != nullptr) scope = &nursery->scope;  // TaskCore::born_in()
  for (unsigned steps = 0; steps < 100'000 && scope != nullptr && scope != &root; ++steps)
    if (!peek(&scope, &scope->parent, sizeof scope)) return false;
  return scope == &root;
}

// How things stand in all runtimes. Equal twice: nothing ran in between, for each dispatch moves a tick.
struct Standing {
  std::uint64_t print = 0;
  bool quiet = true;
  unsigned threads = 0;  // that are ours
  bool dumps = false;    // the writer of dumps is about: one for all runtimes
};

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 29;
}

void add_runtime_to(Standing& standing, RuntimeCore& runtime) {
  const IdleSet::Census census = runtime.idle.census();
  standing.quiet &= census.active == 0 && census.searchers == 0 && runtime.global.empty();
  mix(standing.print, census.sleepers);
  mix(standing.print, runtime.live.finished_total());
  mix(standing.print, runtime.live.started_total());
  const unsigned count = runtime.worker_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const Worker& worker = runtime.worker(i);
    mix(standing.print, worker.moves());
    standing.quiet &=
        worker.deque.size() == 0 && worker.ready.empty() && worker.inbox_size.load(std::memory_order_relaxed) == 0;
    // Kicked out of its sleep, and not on a processor yet: it may take its time on a busy machine.
    standing.quiet &= worker.pinned.empty() && worker.idle_node.wake.load(std::memory_order_relaxed) != IdleNode::token;
  }
  // Never too many: a thread that is counted and gone would hide one that we do not know.
  standing.threads += runtime.threads() + (runtime.sysmon != nullptr && runtime.sysmon->is_watching() ? 1 : 0);
  if (runtime.dump_signal != nullptr) standing.dumps = true;
  const std::lock_guard guard(runtime.blocking_mutex);
  if (runtime.blocking != nullptr) standing.threads += runtime.blocking->threads();
}

Standing look_at_runtimes() {
  Standing standing;
  for_each_runtime(
      [](RuntimeCore& runtime, void* context) { add_runtime_to(*static_cast<Standing*>(context), runtime); },
      &standing);
  return standing;
}

// 0: not to be found out.
unsigned threads_of_process() {
  const long fd = sys::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (sys::is_error(fd)) return 0;
  char buffer[4096];
  const long got = sys::read(static_cast<int>(fd), buffer, sizeof buffer);
  sys::close(static_cast<int>(fd));
  if (got <= 0) return 0;
  const std::string_view text(buffer, static_cast<std::size_t>(got));
  constexpr std::string_view key = "\nThreads:\t";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  unsigned count = 0;
  const char* from = text.data() + at + key.size();
  return std::from_chars(from, text.data() + text.size(), count).ec == std::errc{} ? count : 0;
}

// Of tools, that run no code of the program; at most: TSan's begins with the first thread of the program that does.
constexpr unsigned helper_threads() {
#if defined(__SANITIZE_THREAD__)
  return 1;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return 1;
#else
  return 0;
#endif
#else
  return 0;
#endif
}

}  // namespace

Parties parties_beside(const RuntimeCore& runtime) {
  struct Look {
    const RuntimeCore& asking;
    Parties parties;
  } look{runtime, {}};
  for_each_runtime(
      [](RuntimeCore& other, void* context) {
        auto& [asking, parties] = *static_cast<Look*>(context);
        Standing standing;
        add_runtime_to(standing, other);
        mix(parties.print, standing.print);
        if (&other == &asking) return;
        parties.idle &= standing.quiet && other.outside.load(std::memory_order_acquire) == 0;
        const unsigned count = other.worker_count.load(std::memory_order_acquire);
        for (unsigned i = 0; i < count; ++i)
          parties.idle &= other.worker(i).next_timer.load(std::memory_order_relaxed) == seam::no_deadline;
      },
      &look);
  for_each_thread_task(
      [](const TaskCore& thread, void* context) {
        Parties& parties = static_cast<Look*>(context)->parties;
        const TaskMoment now = thread.word.look();
        mix(parties.print, now.bits());
        if (!is_parked_for_ever(thread, now) && !is_in_run(thread)) parties.idle = false;
      },
      &look);
  return look.parties;
}

DeadlockWatch::Verdict DeadlockWatch::examine(std::string& report) {
  const Standing before = look_at_runtimes();
  if (!before.quiet || before.print != seen_) return Verdict::alive;
  const unsigned helpers = external_waits.load(std::memory_order_acquire);
  if (helpers != 0) return Verdict::external;
  // A thread that nobody knows, whatever the known ones do: with very many tasks that is enough. To look at each of a
  // hundred thousand takes a third of a second.
  const std::uint64_t alive = runtime_.live.started_total() - runtime_.live.finished_total();
  if (alive > most_listed) {
    const unsigned most = before.threads + (before.dumps ? 1 : 0) + thread_tasks() + helper_threads();
    if (threads_of_process() > most) {
      report = std::to_string(alive) + " tasks wait, which weft::dump() lists\n";
      return Verdict::maybe;
    }
  }
  Waits waits;
  bool external = false;
  if (!waits.gather(external, witness_)) return Verdict::alive;
  const unsigned threads = threads_of_process();
  const Standing after = look_at_runtimes();
  if (!after.quiet || after.print != before.print) return Verdict::alive;
  if (runtime_.run_done.load(std::memory_order_acquire) != 0 || waits.count() == 0) return Verdict::alive;
  if (external || helpers != 0 || external_waits.load(std::memory_order_acquire) != 0) return Verdict::external;
  report = waits.report();
  const unsigned known = after.threads + (after.dumps ? 1 : 0) + waits.plain_threads() + helper_threads();
  return threads == 0 || threads > known ? Verdict::maybe : Verdict::dead;
}

std::int64_t DeadlockWatch::again(std::int64_t now) {
  return looks_ < most_looks ? now + (maybe_after << (looks_++)) : seam::no_deadline;
}

std::int64_t DeadlockWatch::look(std::int64_t now, bool awake) {
  if (awake || runtime_.options.deadlock == RuntimeOptions::OnDeadlock::ignore ||
      runtime_.main_task.load(std::memory_order_relaxed) == nullptr) {
    seen_ = 0;
    restless_ = 0;
    return seam::no_deadline;
  }
  const Standing standing = look_at_runtimes();
  if (!standing.quiet || standing.print != seen_) {
    seen_ = standing.print;
    quiet_since_ = now;
    looks_ = 0;
    next_ = now + (patience << restless_);  // another runtime may be busy for long
    restless_ = std::min(restless_ + 1, 6U);
    return next_;
  }
  if (now < next_) return next_;
  restless_ = 0;
  std::string report;
  next_ = seam::no_deadline;
  switch (examine(report)) {
    case Verdict::alive:
      break;
    case Verdict::external:
      next_ = again(now);
      break;
    case Verdict::maybe:
      if (now - quiet_since_ >= maybe_after && !told_maybe_) {
        told_maybe_ = true;
        sys::write_all(2,
                       "weft: maybe a deadlock: nothing runs, and whether threads that we do not know will do "
                       "something cannot be seen (weft::ExternalWait says so); " +
                           report);
      }
      next_ = again(now);
      break;
    case Verdict::dead:
      act("deadlock: nothing can run any more; " + report);
      break;
  }
  return next_;
}

void DeadlockWatch::act(const std::string& report) {
  const std::lock_guard guard(runtime_.deadlock_mutex);
  TaskCore* main = runtime_.main_task.load(std::memory_order_relaxed);
  if (main == nullptr) return;
  const bool first = runtime_.deadlock_report.empty();
  if (first) runtime_.deadlock_report = report;
  if (runtime_.options.deadlock == RuntimeOptions::OnDeadlock::report) {
    if (first) sys::write_all(2, "weft: " + report);
  } else if (first) {
    request_task(*main, CancelReason::deadlock);
  } else if (!runtime_.deadlock_told_again) {
    runtime_.deadlock_told_again = true;
    sys::write_all(2, "weft: asked to stop because of a deadlock, and again: " + report);
  }
}

std::string waits_of(const RuntimeCore& runtime) {
  Waits waits;
  waits.gather_all(&runtime);
  return waits.report();
}

void forget_runtime(RuntimeCore& runtime) {
  remove_runtime(runtime);
  struct Found {
    const ScopeCore& root;
    std::vector<const TaskCore*> tasks;
  } found{runtime.root_scope, {}};
  for_each_record(
      [](TaskCore* task, void* context) {
        auto& mine = *static_cast<Found*>(context);
        const TaskState state = task->word.look().state();
        if (state == TaskState::free || state == TaskState::done || state == TaskState::cancelled) return;
        if (is_born_under(*task, mine.root)) mine.tasks.push_back(task);
      },
      &found);
  forget_tasks(found.tasks);
}

bool external_wait_about() {
  return external_waits.load(std::memory_order_acquire) != 0;
}

void refuse_lonely_wait(const WaitInfo& info) {
  const auto* io = dynamic_cast<const BlockingIo*>(&current_io());
  if (io == nullptr || io->running() == 0) return;
  if (director_here() != nullptr) return;  // other tasks of the simulation go on, and it sees a deadlock by itself
  if (external_waits.load(std::memory_order_acquire) != 0) return;
  const unsigned threads = threads_of_process();
  if (threads == 0 || threads > 1 + helper_threads()) return;
  throw Deadlock(std::string("deadlock: under a BlockingIo a task waits (") + info.kind +
                 ") for what only another one could do, and that runs after it; use a runtime, or a channel with room");
}

void print_deadlock(const Deadlock& deadlock) noexcept {
  sys::write_all(2, "weft: ");
  sys::write_all(2, deadlock.what());
}

}  // namespace detail

using namespace detail;

// Who waits in a simulation may be left there for ever.
ExternalWait::ExternalWait() noexcept : counted_(director_here() == nullptr) {
  if (counted_) external_waits.fetch_add(1, std::memory_order_relaxed);
}

ExternalWait::~ExternalWait() {
  if (!counted_ || external_waits.fetch_sub(1, std::memory_order_release) != 1) return;
  // Virtual times may have stood for it alone.
  for_each_runtime(
      [](RuntimeCore& runtime, void*) {
        if (runtime.virtual_time != nullptr) IdleSet::notify(runtime.worker(0).idle_node);
      },
      nullptr);
}

std::string deadlocks() {
  Waits waits;
  waits.gather_all();
  return waits.cycles(true);
}

}  // namespace weft::inline v0

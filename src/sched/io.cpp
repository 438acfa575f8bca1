// SPDX-License-Identifier: MIT
// Relaxed: a record that no other thread knows yet.
#include "sched/io.hpp"

#include <stdexcept>
#include <utility>

#include "fiber/bindings.hpp"
#include "sched/director.hpp"
#include "sched/dispatch.hpp"
#include "sched/io_door.hpp"
#include "sched/park_while.hpp"
#include "sched/runtime_core.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "sched/virtual_time.hpp"
#include "weft/blocking_io.hpp"
#include "weft/detail/task_permit.hpp"
#include "weft/runtime.hpp"

namespace weft::inline v0 {
namespace detail {

const char io_door_key = 0;

Io* door_here() {
  // Of a fiber that was born without bindings its resumer's counts.
  for (FiberCore* fiber = current_core(); fiber != nullptr; fiber = fiber->parent)
    for (const Binding* b = bindings_holder(fiber)->bindings; b != nullptr; b = b->next)
      if (b->key == &io_door_key && !b->value.empty()) return b->value.as<Io*>();
  return nullptr;
}

Io& process_io() {
  static BlockingIo& io = *new BlockingIo;  // threads may use it until the very end
  return io;
}

namespace {

Raise raise_for(OnCancel what) {
  switch (what) {
    case OnCancel::raise:
      return Raise::yes;
    case OnCancel::end:
      return Raise::quietly;
    case OnCancel::ignore:
      return Raise::no;
  }
  return Raise::yes;
}

// The token's wait is over when this goes, however it ends [PERMIT-2].
class OpenPark {
 public:
  OpenPark(TaskCore& task, const ParkToken& park, ParkTimers& timers) : task_(task), park_(park), timers_(timers) {}
  ~OpenPark() {
    timers_.forget(park_);
    if ((task_.permit.load(std::memory_order_relaxed) & ~1U) == park_.number) TaskPermit::close(task_.permit);
  }
  OpenPark(const OpenPark&) = delete;
  OpenPark& operator=(const OpenPark&) = delete;

 private:
  TaskCore& task_;
  const ParkToken& park_;
  ParkTimers& timers_;
};

}  // namespace

void refuse_null_entry() {
  throw std::invalid_argument("spawn_raw: there is no entry to call");
}

void check_own(const ParkToken& park, const char* verb) {
  if (park.task != nullptr && park.task == this_task()) return;
  throw std::logic_error(std::string(verb) +
                         ": the token is not one of the calling task; take one with current_park() right here");
}

ParkToken open_park() {
  TaskCore* task = task_here();
  return {task, TaskPermit::open(task->permit)};
}

void give_permit(const ParkToken& park) noexcept {
  if (!park) return;
  auto* task = static_cast<TaskCore*>(park.task);
  (void)TaskPermit::give(*task, static_cast<std::uint32_t>(park.number),
                         [task](Ticket ticket) { wake_task(task, ticket, WakeReason::flag); });
}

WaitResult wait_for_permit(const ParkToken& park, const ParkWish& wish, ParkTimers& timers, const TaskCore* holder) {
  check_own(park, "suspend_raw");
  TaskCore& self = *static_cast<TaskCore*>(park.task);
  const OpenPark open(self, park, timers);
  const auto number = static_cast<std::uint32_t>(park.number);
  const WaitInfo info{wish.kind, wish.object, holder};
  const std::int64_t last = deadline_at(wish.deadline);
  const Raise raise = raise_for(wish.on_cancel);
  for (;;) {
    const std::int64_t timer = timers.earliest(park);
    switch (park_while([&] { return TaskPermit::is_open(self.permit, number); }, info, std::min(last, timer), raise)) {
      case WaitOutcome::changed:
        return WaitResult::done;
      case WaitOutcome::cancelled:
        return WaitResult::cancelled;
      case WaitOutcome::woken:
        if (raise != Raise::no) return WaitResult::done;  // for nothing, as the contract allows
        break;
      case WaitOutcome::timed_out: {
        const std::int64_t now = time_here();
        if (timers.earliest(park) <= now) return WaitResult::done;  // it has fired; an evicted one has not
        if (now >= last) return WaitResult::timed_out;
        break;
      }
    }
  }
}

namespace {

// The body of a raw task: called once, whether it runs or not.
class RawBody {
 public:
  RawBody(RawEntry entry, void* arg) : entry_(entry), arg_(arg) {}
  RawBody(RawBody&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)), arg_(other.arg_) {}
  RawBody& operator=(RawBody&&) = delete;
  ~RawBody() {
    if (entry_ != nullptr) entry_(arg_, RawStart::cancelled);
  }
  void operator()() { std::exchange(entry_, nullptr)(arg_, RawStart::run); }

 private:
  RawEntry entry_;
  void* arg_;
};

}  // namespace

RawTask RuntimeCore::spawn_raw(RawEntry entry, void* arg, const TaskOptions& options_in) {
  if (entry == nullptr) refuse_null_entry();
  RawBody body(entry, arg);
  TaskCore* task = take_detached(*this);
  fill_task(task, std::move(body), options_in.site);
  try {
    apply_options(task, options_in);
  } catch (...) {
    abandon_task(task);
    drop_handle(task);
    throw;
  }
  try {
    launch_detached_in(*this, task);
  } catch (...) {
    drop_handle(task);  // abandoned
    throw;
  }
  return {task};
}

void RuntimeCore::cancel_raw(RawTask task, CancelReason reason) {
  request_task(*static_cast<TaskCore*>(task.handle), reason);
}

void RuntimeCore::release_raw(RawTask raw, bool wait, const std::exception_ptr& unobserved) noexcept {
  auto* task = static_cast<TaskCore*>(raw.handle);
  if (wait && !has_ended(task)) {
    WakeReason reason;
    join_task(*task, seam::no_deadline, Raise::no, reason);
  }
  if (unobserved != nullptr) {
    detached_failures.fetch_add(1, std::memory_order_relaxed);
    report_unobserved(*task, unobserved);
  }
  drop_handle(task);
}

ParkToken RuntimeCore::current_park() {
  return open_park();
}

WaitResult RuntimeCore::suspend_raw(const ParkToken& park, const ParkWish& wish) {
  return wait_for_permit(park, wish, timers, static_cast<const TaskCore*>(wish.holder.handle));
}

void RuntimeCore::ready(const ParkToken& park) noexcept {
  give_permit(park);
}

std::chrono::steady_clock::time_point RuntimeCore::now() const {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_of(*this)));
}

TimerToken RuntimeCore::arm_timer(std::chrono::steady_clock::time_point when, const ParkToken& park) {
  check_own(park, "arm_timer");
  return timers.arm(deadline_at(when), park);
}

IoResult RuntimeCore::submit(IoRequest& request) {
  if (virtual_time == nullptr) [[likely]]
    return io_submit(*this, request);
  if (director != nullptr) return director->submit(request);
  const Outside outside_now(*this);
  return io_submit(*this, request);
}

bool RuntimeCore::cancel_timer(const TimerToken& timer) {
  return timers.cancel(timer);
}

}  // namespace detail

using namespace detail;

IoResult Io::block_on(int fd, std::uint32_t events, std::chrono::steady_clock::time_point deadline) {
  IoRequest request;
  request.op = IoOp::poll;
  request.fd = fd;
  request.flags = events;
  request.deadline = deadline;
  return submit(request);
}

Io& current_io() {
  if (Io* door = door_here()) return *door;
  if (const WorkerCore* worker = this_worker()) return *worker->runtime;
  return process_io();
}

}  // namespace weft::inline v0

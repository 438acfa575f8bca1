// SPDX-License-Identifier: MIT
// Relaxed: ids; a state that only its task writes.
#include "weft/supervision.hpp"

#include <mutex>
#include <stdexcept>

#include "fiber/thrown.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0 {

const Dyn<std::uint64_t> supervised_id{"task-id"};

namespace detail {

class SupervisionCore {
 public:
  // False: closed.
  bool tell(const std::shared_ptr<SupervisedCore>& core) {
    Claimed claimed;
    {
      const std::lock_guard guard(lock_);
      if (closed_) return false;
      core->kept = core;
      core->next = nullptr;
      if (WaitNode* node = list_.claim_first(WakeReason::data)) {
        *static_cast<SupervisedCore**>(node->slot) = core.get();
        claimed.add(node);
      } else {
        *last_ = core.get();
        last_ = &core->next;
      }
    }
    deliver_all(claimed);
    return true;
  }
  void close() {
    Claimed claimed;
    {
      const std::lock_guard guard(lock_);
      closed_ = true;
      while (WaitNode* node = list_.claim_first(WakeReason::closed)) claimed.add(node);
    }
    deliver_all(claimed);
  }
  std::shared_ptr<SupervisedCore> recv(std::int64_t deadline) {
    Recv wait(*this);
    (void)wait_on(wait, deadline, Raise::yes);
    return wait.take();
  }
  std::shared_ptr<SupervisedCore> try_recv() {
    const std::lock_guard guard(lock_);
    SupervisedCore* got = pop();
    return got != nullptr ? std::move(got->kept) : nullptr;
  }

 private:
  class Recv {
   public:
    explicit Recv(SupervisionCore& core) : core_(core) { spot_.node.slot = &got_; }
    WaitInfo info() const { return {"supervision", &core_, nullptr}; }
    bool try_complete() {
      const std::lock_guard guard(core_.lock_);
      return look();
    }
    Published publish(TaskCore& me) {
      const std::lock_guard guard(core_.lock_);
      if (look()) return Published::done;
      spot_.park_in(core_.list_, me);
      return Published::parking;
    }
    void unpublish() {
      if (spot_.claimed()) return;
      const std::lock_guard guard(core_.lock_);
      core_.list_.remove(spot_.node);
    }
    std::shared_ptr<SupervisedCore> take() { return got_ != nullptr ? std::move(got_->kept) : nullptr; }

   private:
    bool look() {
      got_ = core_.pop();
      return got_ != nullptr || core_.closed_;
    }
    SupervisionCore& core_;
    SupervisedCore* got_ = nullptr;
    WaitSpotOf<TaskCore> spot_;
  };

  SupervisedCore* pop() {
    SupervisedCore* core = first_;
    if (core == nullptr) return nullptr;
    first_ = core->next;
    if (first_ == nullptr) last_ = &first_;
    return core;
  }

  seam::SpinLock lock_;
  SupervisedCore* first_ = nullptr;  // guarded by lock_, as the rest
  SupervisedCore** last_ = &first_;
  WaitList list_;
  bool closed_ = false;
};

std::uint64_t fresh_supervised_id() {
  static seam::Atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

std::string name_of(const SupervisedCore& core) {
  return "supervised task " + std::to_string(core.id);
}

// The channel, or stderr if that is closed.
void tell(const std::shared_ptr<SupervisedCore>& core, const std::source_location& site) {
  core->id = supervised_id.get_or(core->id);
  if (core->channel->tell(core) || core->bits.empty() || thrown_as<Cancelled>(core->failure) != nullptr) return;
  report_failure(name_of(*core), site,
                 core->failure != nullptr
                     ? core->failure
                     : std::make_exception_ptr(std::runtime_error("signal " + to_string(core->bits))));
}

struct Life {
  const std::shared_ptr<SupervisedCore>& core;
  const std::source_location& site;
};

// Runs the fiber around the body, tells what its mask catches. What it does not catch leaves as an exception.
void live(void* context) {
  const auto& [core, site] = *static_cast<Life*>(context);
  supervised_id.set(core->id);
  Fiber fiber([mine = core.get()] { return mine->call(); }, core->mask.with_env(Env::share));
  const Event* event = &fiber.resume();
  while (!event->ok() && !fiber.finished()) {
    core->bits = event->bits;
    core->value = fiber.take().value;
    core->answered.reset();
    core->state.store(SupervisedState::suspended, std::memory_order_release);
    tell(core, site);
    core->answered.wait();
    core->state.store(SupervisedState::running, std::memory_order_relaxed);
    event = &fiber.resume(std::move(core->answer));
  }
  Event last = fiber.take();
  core->bits = last.bits;
  core->value = std::move(last.value);
  if (core->value.is<std::exception_ptr>()) core->failure = core->value.as<std::exception_ptr>();
}

}  // namespace

void run_supervised(const std::shared_ptr<SupervisedCore>& core, const std::source_location& site) {
  SupervisedState end = SupervisedState::ended;
  bool told = true;
  {
    Life life{core, site};
    if (std::exception_ptr failure = guarded_run(&live, &life)) {
      core->failure = failure;
      core->value = {};
      core->bits = sig::error;
      if (thrown_as<Cancelled>(failure) == nullptr && !core->mask.mask.contains(sig::error)) {
        // Not for the channel [J-098].
        told = false;
        end = SupervisedState::failed;
        report_failure(name_of(*core), site, failure);
      }
    }
    core->drop();
  }
  core->state.store(end, std::memory_order_release);
  if (told) tell(core, site);
  core->ended.set();
}

void keep_task(SupervisedCore& core, Task<void> task) {
  const std::lock_guard guard(core.mutex);
  core.task = std::move(task);
  if (core.asked) core.task.cancel();
}

void skip_supervised(const std::shared_ptr<SupervisedCore>& core) {
  const CancelReason reason = cancel_reason();
  if (reason == CancelReason::none) core->failure = std::current_exception();  // whose handler drops it: no stack
  if (core->failure == nullptr)
    core->failure =
        std::make_exception_ptr(Cancelled(core.get(), reason != CancelReason::none ? reason : CancelReason::shutdown));
  core->bits = sig::error;
  core->drop();
  core->state.store(SupervisedState::ended, std::memory_order_release);
  (void)core->channel->tell(core);
  core->ended.set();
}

}  // namespace detail

using namespace detail;

void SupervisedTask::cancel() {
  const std::lock_guard guard(core_->mutex);
  core_->asked = true;
  if (core_->task) core_->task.cancel();
}

void SupervisedTask::resume(Payload value) {
  if (state() != SupervisedState::suspended)
    throw std::logic_error("SupervisedTask::resume: no signal of it awaits an answer");
  core_->answer = std::move(value);
  core_->answered.set();
}

std::string SupervisorEvent::what() const {
  if (failure != nullptr) return describe_exception(failure);
  return ok() ? value.to_string() : to_string(bits) + " " + value.to_string();
}

namespace {

std::optional<SupervisorEvent> event_of(std::shared_ptr<SupervisedCore> core) {
  if (core == nullptr) return std::nullopt;
  SupervisorEvent event;
  event.bits = core->bits;
  event.id = core->id;
  event.value = std::move(core->value);
  event.failure = core->failure;
  event.task = SupervisedTask(std::move(core));
  return event;
}

}  // namespace

Supervision::Supervision() : core_(std::make_unique<SupervisionCore>()) {}
Supervision::~Supervision() {
  close();
  while (core_->try_recv() != nullptr) {
  }
}
std::optional<SupervisorEvent> Supervision::recv() {
  return event_of(core_->recv(seam::no_deadline));
}
std::optional<SupervisorEvent> Supervision::try_recv() {
  return event_of(core_->try_recv());
}
std::optional<SupervisorEvent> Supervision::recv_until(std::chrono::steady_clock::time_point when) {
  return event_of(core_->recv(deadline_at(when)));
}
void Supervision::close() {
  core_->close();
}

}  // namespace weft::inline v0

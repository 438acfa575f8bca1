// SPDX-License-Identifier: MIT
#include "weft/cond_var.hpp"

#include "sched/park.hpp"

namespace weft::inline v0 {

using namespace detail;

WaitResult CondVar::wait_for_notice(Lock& lock, std::int64_t deadline, Raise raise) {
  struct Wait : CondWaitOf<TaskCore> {
    Wait(CondCoreOf<TaskCore>& core, const CondVar* cond) : CondWaitOf<TaskCore>(core), cond_(cond) {}
    WaitInfo info() const { return {"wait", cond_, nullptr}; }
    const CondVar* cond_;
  };
  // Shielded, and as long as it takes [HB10].
  struct Relock {
    ~Relock() {
      if (mutex.try_lock()) return;
      (void)mutex.lock_slow(seam::no_deadline, Raise::no);
      check_locked(&mutex, true);
    }
    Mutex& mutex;
  };
  Mutex& mutex = *lock.mutex();
  // Asked while nothing has happened: an answer that raises leaves the mutex locked, and nobody enlisted.
  if (raise == Raise::yes) offer_wait({"wait", this, nullptr}, deadline);
  const Relock relock{mutex};
  Wait wait(core_, this);
  mutex.unlock();
  return wait_on(wait, deadline, raise, true);
}

}  // namespace weft::inline v0

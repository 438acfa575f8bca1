// SPDX-License-Identifier: MIT
#include "weft/mutex.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

constexpr int spins = 20;

class LockWait : public LockWaitOf<TaskCore> {
 public:
  LockWait(MutexCoreOf<TaskCore>& mutex, const void* object)
      : LockWaitOf<TaskCore>(mutex, this_task()), mutex_(mutex), object_(object) {}
  WaitInfo info() const { return {.kind = "lock", .object = object_, .holder_at = mutex_.holder_at()}; }

 private:
  MutexCoreOf<TaskCore>& mutex_;
  const void* object_;
};

// It pays to look a little longer while the holder runs on another processor, and nobody waits who would be passed.
bool spin(MutexCoreOf<TaskCore>& mutex) {
  TaskCore* me = this_task();
  for (int i = 0; i < spins; ++i) {
    if (mutex.has_waiters()) return false;
    const TaskCore* holder = mutex.holder();
    if (holder != nullptr && holder->word.look().state() != TaskState::running) return false;
    seam::pause();
    if (!mutex.is_held() && mutex.try_lock(me)) return true;
  }
  return false;
}

}  // namespace

WaitResult Mutex::lock_slow(std::int64_t deadline, Raise raise) {
  if (spin(core_)) return WaitResult::done;
  LockWait wait(core_, this);
  return wait_on(wait, deadline, raise);
}

WaitResult RwMutex::take_slow(RwSide side, std::int64_t deadline, Raise raise) {
  struct Wait : RwWaitOf<TaskCore> {
    Wait(RwMutexCoreOf<TaskCore>& core, RwSide wanted, const RwMutex* mutex)
        : RwWaitOf<TaskCore>(core, wanted), side_(wanted), mutex_(mutex) {}
    WaitInfo info() const {
      return {.kind = side_ == RwSide::write ? "lock" : "lock_shared",
              .object = mutex_,
              .holder_at = &mutex_->writer_,
              .last_seen = mutex_->reader_};
    }
    RwSide side_;
    const RwMutex* mutex_;
  };
  Wait wait(core_, side, this);
  const WaitResult result = wait_on(wait, deadline, raise);
  if (result != WaitResult::done) return result;
  if (side == RwSide::write) {
    writer_ = this_task();
  } else {
    note_use(reader_);
  }
  return result;
}

}  // namespace weft::inline v0

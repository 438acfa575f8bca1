// SPDX-License-Identifier: MIT
#include "weft/coroutine.hpp"

#include <mutex>

#include "weft/deadlock.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {

void CoDriver::drive(std::coroutine_handle<> coroutine) noexcept {
  for (;;) {
    coroutine.resume();
    const CoWait wait = next();
    if (wait.state == nullptr) return;  // [CORO-2]
    try {
      (void)await_future(*wait.state, std::chrono::steady_clock::time_point::max(), OnCancel::raise);
    } catch (...) {
      *wait.interrupted = std::current_exception();
    }
    coroutine = wait.handle;
  }
}

void CoDriver::post(const CoWait& wait) noexcept {
  wait_ = wait;
  posted_.set();
}

CoWait CoDriver::next() {
  if (!posted_.is_set()) {  // something foreign will resume it
    const ExternalWait outside;
    WaitResult end = posted_.wait_result();
    if (end == WaitResult::cancelled) request_stop();
    while (end != WaitResult::done) end = shield([&] { return posted_.wait_result(); });
  }
  posted_.reset();
  return wait_;
}

void CoDriver::request_stop() {
  std::stop_source source{std::nostopstate};
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
    source = stop_;
  }
  source.request_stop();
}

std::stop_token CoDriver::stop_token() {
  std::stop_source fresh;  // it allocates, and calls back: not under the lock
  bool stopping = false;
  {
    const std::lock_guard guard(lock_);
    if (!stop_.stop_possible()) stop_ = fresh;
    fresh = stop_;
    stopping = stopping_;
  }
  if (stopping) fresh.request_stop();
  return fresh.get_token();
}

//   starting -> waiting -> resumed      by the task
//      |  \-> refused                   the task will not run: who starts it finds this, and goes on itself, so that
//      |                                resumption does not nest
//      +-> resumed                      by the task, which was quick
//   any -> abandoned                    the frame goes
struct Resumption {
  enum Phase : std::uint32_t { starting, waiting, refused, resumed, abandoned };
  CoWait wait;
  seam::Atomic<std::uint32_t> phase{starting};
};

namespace {

std::exception_ptr refusal_of(const CoWait& wait) {
  return std::make_exception_ptr(Cancelled(wait.state, CancelReason::shutdown));
}

void wait_and_resume(void* arg, RawStart start) {
  std::exception_ptr interrupted;
  CoWait wait;
  {
    const std::unique_ptr<std::shared_ptr<Resumption>> held(static_cast<std::shared_ptr<Resumption>*>(arg));
    Resumption& resumption = **held;
    wait = resumption.wait;
    if (start == RawStart::run) {
      try {
        (void)await_future(*wait.state, std::chrono::steady_clock::time_point::max(), OnCancel::raise);
      } catch (...) {
        interrupted = std::current_exception();
      }
    } else {
      interrupted = refusal_of(wait);
    }
    release_future(wait.state);
    std::uint32_t phase = Resumption::starting;
    // acq_rel: as below
    if (start != RawStart::run &&
        resumption.phase.compare_exchange_strong(phase, Resumption::refused, std::memory_order_acq_rel))
      return;
    // acq_rel: who abandons it frees what `interrupted` points into
    if (resumption.phase.exchange(Resumption::resumed, std::memory_order_acq_rel) == Resumption::abandoned) return;
  }
  if (interrupted != nullptr) *wait.interrupted = std::move(interrupted);
  wait.handle.resume();
}

}  // namespace

std::shared_ptr<Resumption> make_resumption(const CoWait& wait) {
  auto made = std::make_shared<Resumption>();
  made->wait = wait;
  return made;
}

bool resume_as_task(std::shared_ptr<Resumption> resumption) {
  const std::shared_ptr<Resumption> mine = std::move(resumption);
  FutureState* state = mine->wait.state;
  auto held = std::make_unique<std::shared_ptr<Resumption>>(mine);
  retain_future(state);
  Io& io = *state->io;
  try {
    io.release_raw(io.spawn_raw(wait_and_resume, held.release(), {.name = "co_await"}), false, nullptr);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the entry was called, and has left its mark
  }
  std::uint32_t phase = Resumption::starting;
  // acq_rel: the task's part comes after this, or is over
  if (mine->phase.compare_exchange_strong(phase, Resumption::waiting, std::memory_order_acq_rel) ||
      phase != Resumption::refused)
    return true;
  *mine->wait.interrupted = refusal_of(mine->wait);
  return false;
}

void abandon(Resumption& resumption) noexcept {
  // acq_rel, with the exchange above: one of the two goes first
  (void)resumption.phase.exchange(Resumption::abandoned, std::memory_order_acq_rel);
}

}  // namespace weft::inline v0::detail

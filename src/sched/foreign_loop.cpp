// SPDX-License-Identifier: MIT
#include "sched/foreign_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/sys.hpp"
#include "sched/poller.hpp"

namespace weft::inline v0::detail {

ForeignLoop::ForeignLoop() {
  const long epoll = sys::epoll_create(EPOLL_CLOEXEC);
  if (sys::is_error(epoll)) return;
  const long bell = sys::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  if (sys::is_error(bell) ||
      sys::is_error(sys::epoll_ctl(static_cast<int>(epoll), EPOLL_CTL_ADD, static_cast<int>(bell), &event))) {
    if (!sys::is_error(bell)) (void)sys::close(static_cast<int>(bell));
    (void)sys::close(static_cast<int>(epoll));
    return;
  }
  epoll_ = static_cast<int>(epoll);
  bell_ = static_cast<int>(bell);
}

ForeignLoop::~ForeignLoop() {
  if (epoll_ < 0) return;
  (void)sys::close(bell_);
  (void)sys::close(epoll_);
}

void ForeignLoop::ring() noexcept {
  // acq_rel, with silence(): whoever finds it rung is followed by a look that sees its push [LOOP-1]
  if (rung_.exchange(true, std::memory_order_acq_rel)) return;
  const std::uint64_t one = 1;
  (void)sys::write(bell_, &one, sizeof one);
}

void ForeignLoop::silence() noexcept {
  std::uint64_t count = 0;
  (void)sys::read(bell_, &count, sizeof count);
  (void)rung_.exchange(false, std::memory_order_acq_rel);
}

void ForeignLoop::watch(const Poller* engine) noexcept {
  if (engine == watched_ || engine == nullptr || engine->descriptor() < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  if (!sys::is_error(sys::epoll_ctl(epoll_, EPOLL_CTL_ADD, engine->descriptor(), &event))) watched_ = engine;
}

}  // namespace weft::inline v0::detail

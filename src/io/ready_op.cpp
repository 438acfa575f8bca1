// SPDX-License-Identifier: MIT
#include "weft/ready_op.hpp"

#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::op {

using namespace detail;

// There already, or to come.
struct Ready::Answer {
  explicit Answer(IoResult at_once) : known(at_once), open(gate) {}
  explicit Answer(const IoRequest& poll)
      : open(gate),
        future(async([request = poll]() mutable { return static_cast<Result>(checked(perform_io(request), "poll")); })),
        later(std::make_unique<FutureCase>(*future.state())) {}

  IoResult known;
  GateCore gate{0};
  GateCase<GateCore> open;
  Future<Result> future;
  std::unique_ptr<FutureCase> later;  // of the future
};

Ready::Ready(const IoRequest& poll) : poll_(poll) {}
Ready::Ready(Ready&&) noexcept = default;
Ready::~Ready() = default;

void Ready::collect(SelectCase** into) {
  if (this_worker() == nullptr) throw std::logic_error("op::readable, op::writable: in a task of a runtime only");
  if (answer_ == nullptr) {
    IoRequest now = poll_;
    now.deadline = std::chrono::steady_clock::time_point::min();
    now.quiet = true;
    const IoResult known = perform_io(now);
    const bool waits = known.os_error() == ETIMEDOUT || known.os_error() == ECANCELED;  // a cancel is select's to raise
    answer_ = waits ? std::make_unique<Answer>(poll_) : std::make_unique<Answer>(known);
  }
  *into = &answer_->open;
  if (FutureCase* later = answer_->later.get()) {
    later->join();
    *into = later;
  }
}

Ready::Result Ready::result(std::size_t) {
  const std::unique_ptr<Answer> mine = std::move(answer_);
  return mine->later ? mine->future.await() : static_cast<Result>(checked(mine->known, "poll"));
}

Ready ready(int fd, std::uint32_t for_what) {
  IoRequest poll;
  poll.fd = fd;
  poll.flags = for_what;
  return Ready(poll);
}

Ready ready(const Stream& stream, std::uint32_t for_what) {
  IoRequest poll = stream.request(IoOp::poll);
  poll.flags = for_what;
  return Ready(poll);
}

}  // namespace weft::inline v0::op

// SPDX-License-Identifier: MIT
// What: a small task with a permit, and the two halves of Io around it: suspend() as src/sched/park_while.hpp has it,
// ready() as src/sched/io.cpp.
#pragma once

#include "scenarios/wait_task.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {

template <class Rules>
struct PermitTask : WaitTask<Rules> {
  using Permit = typename Rules::Permit;
  using Word = typename Rules::Word;
  using Reason = typename Rules::Reason;

  std::uint32_t current() { return Permit::open(permit); }
  // True: it was given; false: asked to stop.
  bool suspend(std::uint32_t number) {
    const auto open = [&] { return Permit::is_open(permit, number); };
    for (;;) {
      if (!open()) return leave(true);
      if (this->asked()) return leave(false);
      (void)this->word.begin_park();
      seam::fence(std::memory_order_seq_cst);
      if (!open()) {
        if (this->word.claim_own(Reason::flag) != Word::Claimed::yes)
          while (!this->word.delivered()) seam::pause();
        (void)this->word.stay();
        return leave(true);
      }
      (void)this->park();
    }
  }
  void ready(std::uint32_t number) {
    (void)Permit::give(*this, number, [this](auto ticket) {
      if (this->word.wake(ticket, Reason::flag) == Word::Wake::queue_it) this->enqueue();
    });
  }

  seam::Atomic<std::uint32_t> permit{0};

 private:
  bool leave(bool given) {
    Permit::close(permit);
    return given;
  }
};

}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
// The engine's own protocol of requests by completion, on a ring that answers in every order: cancels that are answered
// before or after what they were for, in vain or not, rings without room, requests that end for no reason [URI-1..7].
#include <memory>
#include <string>

#include "fake_ring.hpp"
#include "io/uring_core.hpp"
#include "mutants.hpp"
#include "sched/poller.hpp"
#include "wait_task.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::UringRules;

enum class By { nobody, cancel, deadline, close };

template <class Rules>
struct RingTask : WaitTask<Rules> {
  using Base = WaitTask<Rules>;
  using Reason = typename Rules::Reason;
  using Why = typename Rules::Why;
  using Word = typename Base::Word;

  // As the engine parks: who has asked for the end obeys nobody any more, and asks again when its time is up. `idle` is
  // what its worker does before it sleeps.
  template <class Operation, class F>
  Why wait_for(Operation& operation, Why asked, std::int64_t until, F&& idle) {
    const bool has_asked = asked != Why::no;
    typename Rules::template Wait<RingTask> wait(operation, true, has_asked);
    if (has_asked) until = seam::monotonic_ns() + 10'000'000;
    for (;;) {
      if (!has_asked && this->asked()) return Why::cancel;
      if (wait.publish(*this) == Rules::Outcome::done) return Why::close;
      const Reason reason = park(!has_asked, until, idle);
      wait.unpublish();
      if (reason == Reason::data || reason == Reason::closed) return Why::close;
      if (!has_asked && this->asked()) return Why::cancel;
      if (reason == Reason::timeout) return Why::timeout;
      if (wait.try_complete()) return Why::close;
    }
  }

 private:
  template <class F>
  Reason park(bool obeys, std::int64_t until, F&& idle) {
    seam::light_fence();
    if (obeys && this->asked() && this->word.claim_own(Reason::cancel) == Word::Claimed::yes) return this->word.stay();
    if (this->word.delivered()) return this->word.stay();
    if (this->word.leave() == Word::Queue::you) this->enqueue();
    idle();
    while (this->queued.exchange(0, std::memory_order_acquire) == 0) {
      if (seam::futex_wait(this->queued, 0, until) != seam::WaitResult::timed_out) continue;
      this->wake(Reason::timeout);  // by a timer
      until = seam::no_deadline;
    }
    return this->word.run_on(2);
  }
};

template <class Rules>
struct RingStage {
  using Task = RingTask<Rules>;
  using Core = typename Rules::template Core<FakeRing, Task>;
  using Operation = typename Rules::template Operation<Task>;
  using Entry = typename Rules::template Entry<Task>;
  using Why = typename Rules::Why;
  using End = typename Rules::End;

  RingStage(World& world, RingPlan plan) : core(world.make<Core>("core")) {
    core.ring.plan = plan;
    for (auto& task : tasks) task = &world.make<Task>("task");
    issue = entry.adopt();
  }

  // --- As a host of the protocol.
  detail::PollerRole role;
  using Woken = typename Rules::template Claimed<Task>;
  void ready(Task* task, Woken&) { task->deliver(); }
  void hand_out(Woken&, bool) {}

  // By task `me`, into a buffer. What the kernel said last is what it says, and the buffer is its own again.
  [[gnu::noinline]] End read(std::size_t me, std::size_t buffer, By by) {
    FakeRing& ring = core.ring;
    ring.memory[buffer].write(0);
    const std::int64_t deadline = by == By::deadline ? seam::monotonic_ns() + 1'000 : seam::no_deadline;
    const auto final = core.perform(
        *this, entry, true,
        [&](io_uring_sqe& sqe) {
          sqe.opcode = IORING_OP_READ;
          sqe.addr = buffer;
        },
        [&](Operation& operation, Why asked) {
          const Why why = tasks[me]->wait_for(operation, asked, deadline, [&] { core.flush(*this); });
          ring.wanted[buffer] = by != By::nobody;
          return why;
        });
    ring.returned[buffer] = true;
    check(!ring.holds(buffer), "it came back while the kernel held its buffer");
    check(final.result == ring.final[buffer], "not what the final completion said");
    check((final.ending == End::result) == (final.result >= 0), "done, or not?");
    if (final.ending != End::result) {
      const End expected = by == By::deadline ? End::timeout : by == By::close ? End::close : End::cancel;
      check(by != By::nobody && final.ending == expected, "ended by who did not ask");
    }
    check(ring.memory[buffer].read() == FakeRing::written, "not written");
    ring.memory[buffer].write(0);
    return final.ending;
  }
  // The worker that is inside the poller, until it has read that many final completions.
  void poll(int finals) {
    while (core.ring.finals_seen != finals) {
      while (!role.try_enter()) seam::pause();
      std::int64_t limit = 0;
      if (core.ring.finals_seen != finals)
        (void)core.wait(seam::no_deadline, [&](std::int64_t until) { return limit = until, &limit; });
      core.reap(1, [](Task* task) { task->deliver(); });
      (void)role.leave();
    }
    if (core.ring.plan.late) core.ring.stop();
  }
  void close() {
    if (!entry.enter(issue)) return;
    typename Rules::template Claimed<Task> claimed;
    std::uint32_t threads = 0;
    check(entry.begin_close(claimed, threads), "nobody else closes");
    claimed.deliver([](Task* task) { task->deliver(); });
    leave();
  }
  void leave() {
    if (!entry.leave()) return;
    check(!core.ring.holds(0), "the number was given back while the kernel used it");
    ++closed;
  }

  Core& core;
  Entry entry;
  std::array<Task*, 2> tasks{};
  std::uint32_t issue = 0;
  int closed = 0;
};

template <class Rules>
using StageRef = std::shared_ptr<RingStage<Rules>>;

template <class Rules>
StageRef<Rules> stage_of(World& world, RingPlan plan) {
  return std::make_shared<RingStage<Rules>>(world, plan);
}
template <class Rules>
void add_kernel(World& world, StageRef<Rules> stage, int requests) {
  const int times = requests + (stage->core.ring.plan.drops ? 1 : 0);
  world.thread("poller", [stage, times] { stage->poll(times); });
  world.thread("kernel", [stage, times] { stage->core.ring.serve(times); });
  if (stage->core.ring.plan.late) world.thread("kernel, cancels", [stage] { stage->core.ring.answer(); });
  world.finally([stage] {
    for (std::size_t i = 0; i < FakeRing::buffers; ++i) {
      check(!stage->core.ring.holds(i), "a request was forgotten");
      check(stage->core.ring.memory[i].read() == 0, "written after it was given back");
    }
  });
}

template <class Rules>
void one(World& world, RingPlan plan, By by) {
  auto stage = stage_of<Rules>(world, plan);
  check(stage->entry.enter(stage->issue), "open");
  world.thread("task", [stage, by] {
    (void)stage->read(0, 0, by);
    stage->leave();
  });
  add_kernel<Rules>(world, stage, 1);
  if (by == By::cancel) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  if (by == By::close) {
    world.thread("closer", [stage] { stage->close(); });
    world.finally([stage] { check(stage->closed == 1, "never closed"); });
  }
}

// Two tasks of two threads, the first perhaps with a deadline.
template <class Rules>
void two(World& world, RingPlan plan, By by) {
  auto stage = stage_of<Rules>(world, plan);
  for (std::size_t i = 0; i < 2; ++i)
    world.thread("task", [stage, i, by] { (void)stage->read(i, i, i == 0 ? by : By::nobody); });
  add_kernel<Rules>(world, stage, 2);
}

// The next request of a task lies where the last one did, and a cancel of that one may be on its way.
template <class Rules>
void one_after_another(World& world) {
  auto stage = stage_of<Rules>(world, {.result = -ECANCELED, .late = true});
  world.thread("task", [stage] {
    (void)stage->read(0, 0, By::deadline);
    check(stage->read(0, 1, By::nobody) == Rules::End::result, "ended by who did not ask");
  });
  add_kernel<Rules>(world, stage, 2);
}

// Nothing fits into either ring, and the kernel takes nothing before completions are seen: who pushes reads them.
template <class Rules>
void no_room(World& world) {
  auto stage = stage_of<Rules>(world, {.refuses = true, .places = 1, .room = 1});
  world.thread("task", [stage] {
    for (int i = 0; i < 3; ++i) stage->core.ring_bell(*stage);
    (void)stage->read(0, 0, By::nobody);
  });
  add_kernel<Rules>(world, stage, 1);
}

constexpr struct {
  int answer;
  const char* name;
} answers[] = {{0, "0"}, {-ENOENT, "ENOENT"}, {-EALREADY, "EALREADY"}};

const bool crossed = [] {
  for (const auto& [answer, name] : answers) {
    for (const int result : {1, -ECANCELED}) {
      Register({.name = std::string("uring: a cancel that is answered by ") + name +
                        " against a request that ends by " + (result > 0 ? "success" : "ECANCELED") +
                        " [B33] [B34] [B14]",
                .run = [answer = answer,
                        result](World& world) { one<Real>(world, {.answer = answer, .result = result}, By::cancel); },
                .preemptions = 1});
    }
    Register({.name = std::string("uring: it ends only by a cancel, and the first is answered by ") + name + " [B34]",
              .run =
                  [answer = answer](World& world) {
                    one<Real>(world, {.answer = answer, .result = -ECANCELED, .hangs = true}, By::deadline);
                  },
              .preemptions = 1});
  }
  return true;
}();

const Register a{{.name = "uring: closed while the kernel has a request [B37] [B34]",
                  .run = [](World& world) { one<Real>(world, {.result = -ECANCELED, .hangs = true}, By::close); },
                  .preemptions = 1}};
const Register b{{.name = "uring: two requests of two threads [B36]",
                  .run = [](World& world) { two<Real>(world, {}, By::nobody); },
                  .preemptions = 1}};
const Register c{{.name = "uring: two requests, one cancelled, and room for one completion [B35] [B34]",
                  .run = [](World& world) { two<Real>(world, {.result = -ECANCELED, .room = 1}, By::deadline); },
                  .preemptions = 1}};
const Register d{{.name = "uring: two requests, and a kernel that takes nothing before completions are seen [B35]",
                  .run = [](World& world) { two<Real>(world, {.refuses = true, .places = 1, .room = 1}, By::nobody); },
                  .preemptions = 1}};
const Register e{
    {.name = "uring: no room in either ring, and who pushes makes it [B35]", .run = no_room<Real>, .preemptions = 1}};
const Register f{{.name = "uring: it ends with the thread that submitted it, and is submitted again [B36]",
                  .run = [](World& world) { one<Real>(world, {.drops = true}, By::nobody); },
                  .preemptions = 2}};
const Register h{
    {.name = "uring: a kernel that takes nothing for a while, and who gives up is followed by who sleeps [URI-6]",
     .run = [](World& world) { one<Real>(world, {.unwilling = 7}, By::nobody); },
     .preemptions = 2}};
const Register g{{.name = "uring: a late cancel does not meet the next request [B34]",
                  .run = one_after_another<Real>,
                  .preemptions = 1}};

const Register m1{{.name = "mutant: uring, its task leaves once it has asked [B33]",
                   .run =
                       [](World& world) {
                         one<mutants::uring_leaves_once_asked::Kit::UringRules>(world, {.result = -ECANCELED},
                                                                                By::cancel);
                       },
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: uring, the answer to a cancel passes for the final completion [B34]",
                   .run =
                       [](World& world) {
                         one<mutants::uring_cancel_is_final::Kit::UringRules>(world, {.answer = -EALREADY}, By::cancel);
                       },
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: uring, it asks once [B34]",
                   .run =
                       [](World& world) {
                         one<mutants::uring_asks_once::Kit::UringRules>(
                             world, {.answer = -EALREADY, .result = -ECANCELED, .hangs = true}, By::deadline);
                       },
                   .fails = Verdict::livelock}};
const Register m4{{.name = "mutant: uring, a mark without a number",
                   .run = one_after_another<mutants::uring_mark_is_address::Kit::UringRules>,
                   .fails = Verdict::assertion}};
const Register m5{
    {.name = "mutant: uring, ECANCELED ends it whoever asked",
     .run =
         [](World& world) { one<mutants::uring_dropped_is_over::Kit::UringRules>(world, {.drops = true}, By::nobody); },
     .fails = Verdict::assertion}};
const Register m6{{.name = "mutant: uring, two write into the submission ring [B36]",
                   .run = [](World& world) { two<mutants::uring_unlocked::Kit::UringRules>(world, {}, By::nobody); },
                   .fails = Verdict::deadlock}};
const Register m7{{.name = "mutant: uring, completions that found no room are not fetched [B35]",
                   .run = no_room<mutants::uring_forgets_kept::Kit::UringRules>,
                   .fails = Verdict::livelock}};
const Register m8{
    {.name = "mutant: uring, who queued it gives up though somebody sleeps inside who does not know",
     .run =
         [](World& world) { one<mutants::uring_gives_up_early::Kit::UringRules>(world, {.unwilling = 7}, By::nobody); },
     .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
// A worker that sleeps in the poller, on its futex, or in turns, against those who wake it and what comes from outside
// [IDLE-6] [POLL-1] [POLL-2] [POLL-3]. Whatever is lost is a deadlock here.
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "sched/idle_set.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Word = seam::Atomic<std::uint32_t>;

struct Real {
  using IdleSet = detail::IdleSet;
  using IdleNode = detail::IdleNode;
  using PollerRole = detail::PollerRole;
  using Poller = detail::Poller;
  using Chain = detail::Chain;
};

// A kernel with one event and one bell, both of which stay until they are seen.
template <class Kit>
class Kernel : public Kit::Poller {
 public:
  bool wait(std::int64_t deadline) override {
    while (bell_.exchange(0, std::memory_order_acquire) == 0)
      if (seam::futex_wait(bell_, 0, deadline) == seam::WaitResult::timed_out) return false;
    return true;
  }
  void interrupt() override { ring(); }
  std::size_t reap(typename Kit::Chain&) override { return event_.exchange(0, std::memory_order_acquire); }
  void bring() {
    event_.store(1, std::memory_order_release);
    ring();
  }

 private:
  void ring() {
    bell_.store(1, std::memory_order_release);
    seam::futex_wake(bell_, 1);
  }
  Word bell_{0};
  Word event_{0};
};

enum class Where { poller, turns };

// A flag is set and its sleeper notified, once or twice.
template <class Kit, Where where, std::uint32_t kicks>
void kicked(World& world) {
  using Set = typename Kit::IdleSet;
  auto& kernel = world.make<Kernel<Kit>>("kernel");
  auto& node = world.make<typename Kit::IdleNode>("node");
  auto& flag = world.make<Word>("flag", 0U);
  world.thread("worker", [&] {
    bool poller = true;
    while (flag.load(std::memory_order_acquire) != kicks) {
      if (poller) {
        (void)Set::sleep_in(kernel, node, seam::no_deadline);
      } else {
        (void)Set::sleep(node, seam::no_deadline);
      }
      if (where == Where::turns) poller = !poller;
    }
  });
  world.thread("kicker", [&] {
    for (std::uint32_t i = 1; i <= kicks; ++i) {
      flag.store(i, std::memory_order_release);
      Set::notify(node);
    }
  });
}

// An event comes while sysmon passes by and the last worker falls asleep: somebody gets it.
template <class Kit>
void passed_by(World& world) {
  auto& kernel = world.make<Kernel<Real>>("kernel");
  auto& role = world.make<typename Kit::PollerRole>("role");
  auto& node = world.make<detail::IdleNode>("node");
  auto& got = world.make<Word>("got", 0U);
  const auto reap = [&] {
    detail::Chain none;
    if (kernel.reap(none) != 0) got.store(1, std::memory_order_release);
  };
  world.thread("worker", [&, reap] {
    while (got.load(std::memory_order_acquire) == 0) {
      if (role.try_enter()) {
        (void)detail::IdleSet::sleep_in(kernel, node, seam::no_deadline);
        reap();
        (void)role.leave();
      } else {
        (void)detail::IdleSet::sleep(node, seam::no_deadline);
      }
    }
  });
  world.thread("sysmon", [&, reap] {
    if (!role.try_pass()) return;
    reap();
    // It hands in what it has reaped, which wakes somebody, or wakes one who wanted in.
    if (role.leave() || got.load(std::memory_order_acquire) != 0) detail::IdleSet::notify(node);
  });
  world.thread("outside", [&] { kernel.bring(); });
}

const Register a{{.name = "poller: a notify against who falls asleep in it", .run = kicked<Real, Where::poller, 2>}};
const Register b{{.name = "poller: notifies against who sleeps here and there", .run = kicked<Real, Where::turns, 2>}};
const Register c{{.name = "poller: a notify, store buffers", .run = kicked<Real, Where::poller, 1>, .delays = 1}};
const Register d{{.name = "poller: an event while sysmon passes by", .run = passed_by<Real>}};

const Register m1{{.name = "mutant: poller, a waker looks where its sleeper is before the token is there",
                   .run = kicked<mutants::idle_looks_where_first::Kit, Where::poller, 1>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: poller, a sleeper overwrites the token",
                   .run = kicked<mutants::idle_enters_over_token::Kit, Where::poller, 1>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: poller, who cannot enter leaves no word",
                   .run = passed_by<mutants::poller_leaves_no_word::Kit>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify

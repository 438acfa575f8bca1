// SPDX-License-Identifier: MIT
// Frozen chains: inner fibers resumed on their own (HB5), a chain under another parent (HB7).
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/refusal.hpp"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using weft_test::has;
using weft_test::refusal;

namespace {

// f resumes g, and g's user5 goes past f's own handling: both freeze.
struct Chain {
  Fiber g;
  std::vector<std::string> seen;
  Fiber f;

  explicit Chain(Mask inner = "e", Mask outer = "5")
      : g([] { return emit(sig::user(5), 1).as<int>() + 100; }, inner),
        f(
            [this] {
              try {
                const Event& event = g.resume();
                seen.push_back("g " + to_string(event.bits) + " " + event.value.to_string());
                return event.bits.empty() ? event.value.as<int>() : -1;
              } catch (const std::exception& error) {
                seen.emplace_back(error.what());
                return -2;
              }
            },
            outer) {
    f.resume();
  }
};

}  // namespace

TEST_CASE("chain: an inner fiber that ended on its own gives its event to the pending resume, the value drops [HB5]") {
  Chain chain;
  CHECK(chain.f.state() == State::suspended);
  CHECK(chain.f.child() == chain.g);
  CHECK(chain.g.resume(5).value.as<int>() == 105);
  CHECK(chain.g.state() == State::dead);
  CHECK(chain.seen.empty());
  CHECK(chain.f.can_resume());
  CHECK(chain.f.resume(999).value.as<int>() == 105);
  CHECK(chain.seen == std::vector<std::string>{"g ok 105"});
}

TEST_CASE("chain: an inner fiber that failed on its own fails the pending resume [HB5]") {
  Fiber g([] {
    emit(sig::user(5), 1);
    throw std::runtime_error("g broke");
  });
  std::string seen;
  Fiber f(
      [&] {
        try {
          g.resume();
        } catch (const std::runtime_error& error) {
          seen = error.what();
        }
        return 3;
      },
      "5");
  f.resume();
  CHECK_THROWS_AS(g.resume(), std::runtime_error);
  CHECK(seen.empty());
  CHECK(f.resume().value.as<int>() == 3);
  CHECK(seen == "g broke");
}

TEST_CASE("chain: an inner fiber that suspended on its own takes the value of the outer resume [HB5]") {
  Fiber g([] {
    int sum = emit(sig::user(5), 1).as<int>();
    sum += yield(2).as<int>();
    return sum;
  });
  Fiber f([&] { return g.resume().value.as<int>(); }, "5");
  f.resume();
  CHECK(g.resume(10).bits == sig::yield);  // g's own mask catches it, here
  CHECK(f.can_resume());
  CHECK(f.resume(7).value.as<int>() == 17);
}

TEST_CASE("chain: resuming the outer fiber while an inner one runs on its own is child_alive [HB5]") {
  std::string text;
  Fiber f;
  Fiber g([&] {
    emit(sig::user(5), 1);
    text = refusal([&] { f.resume(); });
    return 1;
  });
  f = Fiber([&] { return g.resume().value.as<int>() + 1; }, "5");
  f.resume();
  CHECK(g.resume().value.as<int>() == 1);
  CHECK(has(text, "child_alive: "));
  CHECK(has(text, weft_test::called(f).c_str()));
  CHECK(f.resume().value.as<int>() == 2);
}

TEST_CASE("chain: the middle one of three, resumed while the inner one runs on its own, is child_alive [HB5]") {
  std::string text;
  Fiber middle;
  Fiber inner([&] {
    emit(sig::user(5), 1);
    text = refusal([&] { middle.resume(); });
  });
  middle = Fiber([&] { inner.resume(); });
  Fiber outer([&] { middle.resume(); }, "5");
  outer.resume();
  inner.resume();
  CHECK(has(text, "child_alive: "));
  outer.resume();
  CHECK(outer.state() == State::dead);
  CHECK(middle.state() == State::dead);
}

TEST_CASE("chain: an inner fiber is re-parented while it runs on its own and goes back to its place [HB5]") {
  Fiber g;
  Fiber parent_seen;
  g = Fiber([&] {
    emit(sig::user(5), 1);
    parent_seen = g.parent();
    yield(2);
  });
  Fiber f([&] { g.resume(); }, "5");
  f.resume();
  CHECK(g.parent() == f);
  Fiber handler([&] { g.resume(); });
  handler.resume();
  CHECK(parent_seen == handler);
  CHECK(g.parent() == f);
  parent_seen = Fiber();
  f.resume();
  CHECK(f.state() == State::dead);
}

TEST_CASE("propagate: a finished child is thrown, a suspended one re-raised with its own bits [HB5]") {
  Fiber failed([] { throw std::runtime_error("child"); }, "e");
  Fiber outer([&] {
    failed.resume();
    propagate(failed);
  });
  CHECK_THROWS_AS(outer.resume(), std::runtime_error);
  CHECK(outer.child() == failed);
}

TEST_CASE("propagate: once the chain is resumed it returns the child's next caught event [HB5]") {
  std::vector<std::string> log;
  Fiber child([] {
    const int a = yield(1).as<int>();
    const int b = yield(a + 1).as<int>();
    return b + 1;
  });
  Fiber outer([&] {
    child.resume();
    const Event& second = propagate(child);
    log.push_back(to_string(second.bits) + " " + second.value.to_string());
    const Event& third = propagate(child);
    log.push_back(to_string(third.bits) + " " + third.value.to_string());
    return 0;
  });
  CHECK(outer.resume().value.as<int>() == 1);
  CHECK(outer.child() == child);
  CHECK(outer.resume(10).value.as<int>() == 11);  // child yields 11, outer propagates it again
  CHECK(outer.resume(20).ok());
  CHECK(log == std::vector<std::string>{"|yield| 11", "ok 21"});
}

TEST_CASE("io: what is above is found again when a frozen chain is resumed under another parent [HB7]") {
  Fiber probe;
  std::vector<bool> seen;
  probe = Fiber([&] {
    for (;;) {
      seen.push_back(current_fiber().io_caught());
      emit(sig::user(5));
    }
  });
  Fiber chain([&] { probe.resume(); }, "5");
  chain.resume();  // under the plain thread
  Fiber sandbox([&] { chain.resume(); }, SignalSet{sig::io});
  sandbox.resume();
  Fiber open([&] { chain.resume(); }, "5");
  open.resume();
  chain.resume();
  CHECK(seen == std::vector<bool>{false, true, false, false});
}

TEST_CASE("io: an I/O request of a chain that moved under a sandbox is caught there [HB7]") {
  Fiber chain(
      [] {
        Fiber inner([] {
          emit(sig::user(5));
          return emit(sig::io, "open /etc/passwd").as<int>();
        });
        return inner.resume().value.as<int>();
      },
      "5");
  chain.resume();
  Fiber sandbox([&] { return chain.resume().value.as<int>(); }, SignalSet{sig::io});
  CHECK(sandbox.resume().value.as<std::string>() == "open /etc/passwd");
  CHECK(sandbox.resume(-1).value.as<int>() == -1);
}

TEST_CASE("io: letter masks pass io and wait unless they name w or a; a raw set catches them [HB7]") {
  const auto caught = [](Mask mask) {
    Fiber f([] { return std::pair(current_fiber().io_caught(), current_fiber().wait_caught()); }, mask);
    return f.resume().value.as<std::pair<bool, bool>>();
  };
  using Both = std::pair<bool, bool>;
  CHECK(caught("y") == Both(false, false));
  CHECK(caught("ye") == Both(false, false));
  CHECK(caught("w") == Both(false, true));
  CHECK(caught("yw") == Both(true, true));
  CHECK(caught("a") == Both(true, true));
  CHECK(caught(SignalSet{sig::yield}) == Both(true, false));
  CHECK(caught(SignalSet{sig::io}) == Both(true, false));
  CHECK(caught(SignalSet{sig::wait}) == Both(false, true));
  CHECK(caught(SignalSet{sig::error}) == Both(false, false));
}

TEST_CASE("io: |yield io| goes through a letter y and is caught by a raw yield set, by overlap [HB7]") {
  Fiber outer(
      [] {
        Fiber letter([] { return emit(sig::yield | sig::io, 1).as<int>(); }, "y");
        return letter.resume().value.as<int>();
      },
      SignalSet{sig::yield});
  CHECK(outer.resume().bits == (sig::yield | sig::io));
  CHECK(outer.resume(4).value.as<int>() == 4);
}

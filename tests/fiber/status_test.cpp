// SPDX-License-Identifier: MIT
// The sixteen statuses and the five states, and what each allows.
#include <array>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"

using namespace weft;

namespace {

FiberErrc code_of(auto&& act) {
  try {
    act();
  } catch (const FiberError& error) {
    return error.code();
  }
  FAIL("no FiberError");
  return {};
}

// A letter-masked fiber that stopped with one signal, or returned; 100 plus what it was resumed with if it went on.
Fiber stopped(SignalSet bits) {
  Fiber f(
      [bits] {
        if (bits.empty()) return 0;
        return 100 + emit(bits).as<int>();
      },
      "a");
  CHECK(f.resume().bits == bits);
  return f;
}

struct Row {
  Status status;
  const char* name;
  SignalSet bits;
  bool resumable;
};

const std::array<Row, 14> stops{{
    {Status::dead, "dead", sig::ok, false},
    {Status::error, "error", sig::error, false},
    {Status::debug, "debug", sig::debug, true},
    {Status::pending, "pending", sig::yield, true},
    {Status::user0, "user0", sig::user0, false},
    {Status::user1, "user1", sig::user1, false},
    {Status::user2, "user2", sig::user2, false},
    {Status::user3, "user3", sig::user3, false},
    {Status::user4, "user4", sig::user4, false},
    {Status::user5, "user5", sig::user5, true},
    {Status::user6, "user6", sig::user6, true},
    {Status::user7, "user7", sig::user7, true},
    {Status::interrupted, "interrupted", sig::interrupt, true},
    {Status::suspended, "suspended", sig::await, true},
}};

}  // namespace

TEST_CASE(
    "status: resumable unless dead, error or user0-4; a resumable one goes on where it stopped, another refuses "
    "[J-027] [J-028] [J-029] [J-030] [J-031] [J-032] [J-033] [J-034] [J-035] [J-036] [J-037] [J-038] [J-039] [J-040] "
    "[J-041] [J-042] [J-043]") {
  for (const Row& row : stops) {
    CAPTURE(row.name);
    Fiber f = stopped(row.bits);
    CHECK(f.status() == row.status);
    CHECK(std::string(to_string(f.status())) == row.name);
    CHECK(resumable(row.status) == row.resumable);
    CHECK(f.can_resume() == row.resumable);
    CHECK(f.finished() == !row.resumable);
    if (row.resumable) {
      CHECK(f.state() == State::suspended);
      CHECK(f.resume(5).value.as<int>() == 105);
      CHECK(f.status() == Status::dead);
    } else {
      CHECK(code_of([&] { f.resume(5); }) == FiberErrc::finished);
      CHECK(code_of([&] { f.cancel(5); }) == FiberErrc::finished);
      CHECK(f.status() == row.status);
      CHECK(f.last().bits == row.bits);
    }
  }

  Fiber fresh([] { return 1; });
  CHECK(fresh.status() == Status::new_);
  CHECK(std::string(to_string(fresh.status())) == "new");
  CHECK(resumable(Status::new_));
  CHECK(fresh.can_resume());
  CHECK(fresh.resume().ok());

  // Alive is not over, but it cannot be resumed while it runs: by itself, or by its own child.
  Fiber f;
  f = Fiber([&f] {
    CHECK(current_fiber() == f);
    CHECK(f.status() == Status::alive);
    CHECK(std::string(to_string(f.status())) == "alive");
    CHECK(f.state() == State::alive);
    CHECK(resumable(Status::alive));
    CHECK(!f.can_resume());
    CHECK(code_of([&] { f.resume(); }) == FiberErrc::alive);
    CHECK(code_of([&] { f.cancel(1); }) == FiberErrc::alive);
    Fiber child([&f] { CHECK(code_of([&] { f.resume(); }) == FiberErrc::alive); });
    child.resume();
  });
  CHECK(f.resume().ok());
  CHECK(f.status() == Status::dead);
}

TEST_CASE("status: of several bits error is shown before debug, interrupt, await and io, userN, yield") {
  const std::vector<SignalSet> order{sig::error, sig::debug, sig::interrupt, sig::io, sig::user3, sig::yield};
  const std::vector<Status> shown{Status::error,     Status::debug, Status::interrupted,
                                  Status::suspended, Status::user3, Status::pending};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i; j < order.size(); ++j) {
      Fiber f([&] { emit(order[i] | order[j]); }, sig::all);
      f.resume();
      CHECK(f.status() == shown[i]);
      CHECK(f.state() == State::suspended);
    }
}

TEST_CASE("status: under a SignalSet mask an error only suspends") {
  Fiber f([] { return emit(sig::error, 1).as<int>(); }, sig::error);
  f.resume();
  CHECK(f.status() == Status::error);
  CHECK(f.state() == State::suspended);
  CHECK(f.can_resume());
  CHECK(f.resume(2).value.as<int>() == 2);
}

TEST_CASE("status: a thrown exception and an emitted error look the same from outside [J-028]") {
  Fiber thrown([] { throw 1; }, "e");
  Fiber emitted([] { emit(sig::error, std::make_exception_ptr(1)); }, "e");
  for (Fiber* f : {&thrown, &emitted}) {
    const Event& event = f->resume();
    CHECK(event.bits == sig::error);
    CHECK(event.value.is<std::exception_ptr>());
    CHECK(f->status() == Status::error);
    CHECK(f->state() == State::error);
  }
}

TEST_CASE("status: an empty handle says so, whatever it is asked") {
  Fiber none;
  CHECK(!none);
  CHECK(code_of([&] { none.resume(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { none.cancel(1); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { none.kill(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { (void)none.status(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { (void)none.last(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { (void)none.mask(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { (void)none.child(); }) == FiberErrc::empty_handle);
  CHECK(code_of([&] { propagate(none); }) == FiberErrc::empty_handle);
}

TEST_CASE("status: cancel and kill of a fiber that never ran end it without running it") {
  bool ran = false;
  Fiber cancelled([&] { ran = true; }, "e");
  CHECK(cancelled.cancel("never").value.as<std::string>() == "never");
  CHECK(cancelled.status() == Status::error);
  Fiber killed([&] { ran = true; });
  killed.kill();
  CHECK(killed.state() == State::error);
  killed.kill();
  CHECK(code_of([&] { killed.resume(); }) == FiberErrc::finished);
  CHECK(!ran);
}

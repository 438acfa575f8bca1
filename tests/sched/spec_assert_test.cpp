// SPDX-License-Identifier: MIT
// WEFT_SPEC_ASSERT=1: the rules of the task lifecycle in a build without assertions. The task word is compiled here as
// such a build has it, in a namespace of its own, so that every build runs these tests. Each rule is broken once: that
// must stop the program if the flag is set, and must not even be looked at if it is not.
#include <cstddef>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"

#ifndef NDEBUG
#define NDEBUG
#endif
#define v0 v0_without_assertions
#include "test_places.hpp"
#include "weft/detail/task_word.hpp"
#undef v0

namespace weft::inline v0_without_assertions::detail {

constinit seam::Guessed<bool> spec_assertions = false;

void assert_failed(const char* text, const char*, const char*, int) {
  throw std::logic_error(text);
}

}  // namespace weft::inline v0_without_assertions::detail

namespace {

using weft::v0_without_assertions::detail::spec_assertions;
using weft::v0_without_assertions::detail::TaskWord;
using weft::v0_without_assertions::detail::Ticket;
using weft::v0_without_assertions::detail::WakeReason;
using Claimed = TaskWord::Claimed;

void park(TaskWord& word) {
  word.make_fresh();
  (void)word.run_on(1);
  (void)word.begin_park();
}

// What somebody could do wrong, and the rule that says so.
struct Mistake {
  const char* rule;
  std::function<void(TaskWord&)> act;
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      {"only a task that was dequeued, or whose child has ended on its stack, begins to run",
       [](TaskWord& w) {
         park(w);
         w.check_may_run();  // asked by who switches to it
         (void)w.run_on(2);
       }},
      {"only a new task, one that yields, or one that is claimed, delivered and left may be queued",
       [](TaskWord& w) {
         park(w);
         CHECK(w.claim({1}, WakeReason::data) == Claimed::yes);
         CHECK(w.deliver() == TaskWord::Queue::not_you);
         w.check_may_be_queued();  // asked by make_ready: a waker that queues whom it found PARKING
         w.make_runnable();
       }},
      {"only a running task suspends",
       [](TaskWord& w) {
         w.make_fresh();
         w.suspend();
       }},
      {"only a record that nobody uses becomes a new task",
       [](TaskWord& w) {
         w.make_fresh();
         w.make_fresh();
       }},
      {"only a running task ends",
       [](TaskWord& w) {
         park(w);
         w.finish(false);
       }},
      {"only a running task joins",
       [](TaskWord& w) {
         w.make_fresh();
         w.join_in_place();
       }},
      {"only who joins in place has joined",
       [](TaskWord& w) {
         w.make_fresh();
         (void)w.run_on(1);
         w.joined(w.look());
       }},
      {"only a running task parks",
       [](TaskWord& w) {
         park(w);
         (void)w.begin_park();
       }},
      {"only a claimed parker that has not left goes on",
       [](TaskWord& w) {
         park(w);
         (void)w.stay();
       }},
      {"only a parking task is left, once",
       [](TaskWord& w) {
         park(w);
         CHECK(w.leave() == TaskWord::Queue::not_you);
         w.check_may_be_left();  // asked by who runs after it
         (void)(w.leave() == TaskWord::Queue::you);
       }},
      {"who ends a wait says why",
       [](TaskWord& w) {
         park(w);
         (void)(w.claim({1}, WakeReason::none) == Claimed::yes);
       }},
      {"only who has claimed a wait delivers it, once",
       [](TaskWord& w) {
         park(w);
         (void)(w.deliver() == TaskWord::Queue::you);
       }},
      {"a node was taken whose wait is over: its ticket was not looked at",
       [](TaskWord& w) {
         park(w);
         CHECK(w.wake({1}, WakeReason::cancel) == TaskWord::Wake::parker_goes_on);
         (void)w.stay();
         (void)w.begin_park();
         // The node of the first wait is still in a list; whoever takes it claims the wait at hand.
         CHECK(w.claim(w.look().ticket(), WakeReason::data) == Claimed::yes);
         (void)(w.deliver(Ticket{1}) == TaskWord::Queue::you);
       }},
  };
  return all;
}

// The rule that was broken, or nothing.
std::string broken_by(const Mistake& mistake) {
  TaskWord word;
  try {
    mistake.act(word);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("spec assertions: with WEFT_SPEC_ASSERT=1 a build without assertions trips each of them [W-106] [W-120]") {
  spec_assertions = true;
  std::set<std::string> tripped;
  for (const Mistake& mistake : mistakes()) {
    CHECK(broken_by(mistake) == mistake.rule);
    tripped.insert(mistake.rule);
  }
  spec_assertions = false;
  // None of the header's is left out.
  std::ifstream file(WEFT_TEST_SOURCE "/include/weft/detail/task_word.hpp");
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = read.str();
  std::size_t rules = 0;
  for (const char* form : {"WEFT_SPEC(", "WEFT_SPEC_IF("}) {
    for (std::size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + 1)) {
      const std::size_t open = text.find('"', at) + 1;
      const std::string rule = text.substr(open, text.find('"', open) - open);
      INFO("rule: ", rule);
      CHECK(tripped.count(rule) == 1);
      ++rules;
    }
  }
  CHECK(rules == mistakes().size());
}

TEST_CASE("spec assertions: without it the same mistakes cost a build without assertions no look [W-106]") {
  spec_assertions = false;
  for (const Mistake& mistake : mistakes()) {
    INFO("rule: ", mistake.rule);
    CHECK(broken_by(mistake) == "");
  }
}

// SPDX-License-Identifier: MIT
// Killing: HB2, B15, B27.
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/refusal.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using weft_test::has;
using weft_test::refusal;

namespace {

using Log = std::vector<std::string>;

struct Note {
  Log& log;
  const char* word;
  ~Note() { log.emplace_back(word); }
};

// The usual scope guard: did this scope end because of an exception?
struct Guard {
  Log& log;
  int at_entry = std::uncaught_exceptions();
  ~Guard() { log.emplace_back(std::uncaught_exceptions() > at_entry ? "failure" : "success"); }
};

}  // namespace

TEST_CASE("kill: destructors run, deepest fiber first, and the fiber ends with an error [HB2]") {
  Log log;
  Fiber f([&] {
    const Note outer{log, "outer"};
    Fiber inner(
        [&] {
          const Note a{log, "a"};
          const Note b{log, "b"};
          yield(1);
          log.emplace_back("resumed");
        },
        "e");
    inner.resume();
    log.emplace_back("went on");
  });
  f.resume();
  f.kill();
  CHECK(log == Log{"b", "a", "outer"});
  CHECK(f.state() == State::error);
  CHECK_FALSE(f.can_resume());
  f.kill();  // of a finished fiber: nothing happens
  CHECK(has(refusal([&] { f.resume(); }), "finished: "));
}

TEST_CASE("kill: destroying the last handle of a suspended fiber unwinds it [HB2]") {
  Log log;
  {
    Fiber f([&] {
      const Note note{log, "unwound"};
      yield(1);
    });
    f.resume();
    CHECK(log.empty());
  }
  CHECK(log == Log{"unwound"});
}

TEST_CASE("kill: a fiber that never ran drops its closure and never runs [HB2]") {
  auto token = std::make_shared<int>(1);
  bool ran = false;
  Fiber f([token, &ran] { ran = true; });
  CHECK(token.use_count() == 2);
  f.kill();
  CHECK(token.use_count() == 1);
  CHECK_FALSE(ran);
  CHECK(f.state() == State::error);
}

TEST_CASE("kill: protect, try_ and defer let it through without running their parts [HB2] [B15]") {
  Log log;
  Fiber f([&] {
    const Note note{log, "destructor"};
    protect([&] {
      try_(
          [&] {
            defer([&] { log.emplace_back("defer ran"); }, [] { yield(1); });
            return 0;
          },
          [&](Payload) {
            log.emplace_back("try_ handler ran");
            return 1;
          });
    });
    log.emplace_back("protect took it");
  });
  f.resume();
  f.kill();
  CHECK(log == Log{"destructor"});
  CHECK(f.state() == State::error);
}

TEST_CASE("kill: swallowed by catch (...), it is thrown again at the next suspension point [HB2] [B15]") {
  Log log;
  Fiber f([&] {
    try {
      yield(1);
    } catch (...) {
      log.emplace_back("swallowed");
    }
    try {
      yield(2);
      log.emplace_back("yield worked");
    } catch (const std::exception&) {
      log.emplace_back("seen as an error");
    } catch (...) {
      log.emplace_back("again");
    }
    emit(sig::user(7));
    log.emplace_back("went on");
  });
  f.resume();
  f.kill();
  CHECK(log == Log{"swallowed", "again"});
  CHECK(f.state() == State::error);
}

TEST_CASE("kill: a killed fiber that returns still ends as killed [HB2] [B15]") {
  Fiber f([] {
    try {
      yield(1);
    } catch (...) {
    }
    return 5;
  });
  f.resume();
  f.kill();
  CHECK(f.state() == State::error);
  CHECK(f.last().bits == sig::abort);
  CHECK(f.status() == Status::error);
}

TEST_CASE("kill: a killed fiber that throws something else still ends as killed [HB2] [B15]") {
  Fiber f(
      [] {
        try {
          yield(1);
        } catch (...) {
          throw std::runtime_error("in the handler");
        }
      },
      "ye");
  f.resume();
  f.kill();
  CHECK(f.state() == State::error);
  CHECK(f.last().bits == sig::abort);
}

TEST_CASE("kill: a yield in a destructor returns empty at once and is counted [HB2]") {
  struct Yields {
    bool* empty;
    ~Yields() {
      *empty = yield(3).empty();
      yield(4);
    }
  };
  bool empty = false;
  Fiber f([&] {
    const Yields y{&empty};
    yield(1);
  });
  f.resume();
  f.kill();
  CHECK(empty);
  CHECK(f.swallowed_yields() == 2);
  CHECK(f.state() == State::error);
}

TEST_CASE("kill: a destructor may run fibers of its own while the stack unwinds [HB2]") {
  Log log;
  struct Works {
    Log& log;
    ~Works() {
      int sum = 0;
      for (const int x : Generator<int>([] {
             for (int i = 1; i <= 3; ++i) yield(i);
           }))
        sum += x;
      log.push_back(std::to_string(sum));
    }
  };
  Fiber f([&] {
    const Works w{log};
    yield(1);
  });
  f.resume();
  f.kill();
  CHECK(log == Log{"6"});
}

TEST_CASE("kill: a yield that an inner fiber sends through a destructor returns empty as well [HB2]") {
  Log log;
  struct Sends {
    Log& log;
    ~Sends() {
      Fiber inner([this] { log.emplace_back(yield(1).empty() ? "empty" : "switched"); }, "e");
      inner.resume();
    }
  };
  Fiber f([&] {
    const Sends s{log};
    yield(1);
  });
  f.resume();
  f.kill();
  CHECK(log == Log{"empty"});
}

TEST_CASE("kill: a running fiber refuses it [HB2]") {
  Fiber f([] {
    Fiber self = current_fiber();
    const std::string own = refusal([&] { self.kill(); });
    Fiber inner([&] { return refusal([&] { self.kill(); }); });
    const std::string from_below = inner.resume().value.as<std::string>();
    return has(own, "alive: ") && has(from_below, "alive: ") && has(own, weft_test::called(self).c_str());
  });
  CHECK(f.resume().value.as<bool>());
  CHECK(f.state() == State::dead);
}

TEST_CASE("kill: scope guards that ask uncaught_exceptions see a failure, as for any exception [B27]") {
  Log log;
  Fiber f([&] {
    const Guard guard{log};
    Fiber inner(
        [&] {
          const Guard inner_guard{log};
          yield(1);
        },
        "e");
    inner.resume();
  });
  f.resume();
  CHECK(std::uncaught_exceptions() == 0);
  f.kill();
  CHECK(std::uncaught_exceptions() == 0);
  CHECK(log == Log{"failure", "failure"});
}

TEST_CASE("kill: done by a destructor while the killer itself unwinds, guards count only their own stack [B27]") {
  Log log;
  try {
    Fiber f([&] {
      const Guard guard{log};
      {
        const Guard calm{log};
      }
      yield(1);
    });
    f.resume();
    const Guard outer{log};
    throw std::runtime_error("x");  // destroys f while this stack has an exception in flight
  } catch (const std::runtime_error&) {
    CHECK(std::uncaught_exceptions() == 0);
  }
  CHECK(log == Log{"success", "failure", "failure"});
}

TEST_CASE("kill: done while the killer unwinds, the killed stack counts its own exception alone [B27]") {
  struct Count {
    Log& log;
    ~Count() { log.push_back(std::to_string(std::uncaught_exceptions())); }
  };
  Log log;
  try {
    const Count outer{log};
    Fiber f([&] {
      const Count inner{log};
      yield(1);
    });
    f.resume();
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  CHECK(log == Log{"1", "1"});
}

TEST_CASE("kill: a fiber that ends normally while its resumer unwinds tells its guards of success [B27]") {
  struct Finishes {
    Fiber& fiber;
    ~Finishes() { fiber.resume(); }
  };
  Log log;
  Fiber f([&] {
    const Guard guard{log};
    yield(1);
  });
  f.resume();
  try {
    const Finishes finishes{f};
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  CHECK(f.state() == State::dead);
  CHECK(log == Log{"success"});
}

TEST_CASE("cancel: swallowed by catch (...), the next cancel is delivered again [B15]") {
  int swallowed = 0;
  Fiber f([&] {
    while (swallowed < 4) {
      try {
        yield(swallowed);
      } catch (...) {
        ++swallowed;
      }
    }
  });
  f.resume();
  for (int i = 1; i <= 3; ++i) CHECK(f.cancel("stop").value.as<int>() == i);
  CHECK(f.can_resume());
}

TEST_CASE("generator: dropped half way, its body unwinds and its resources are free [HB2]") {
  auto resource = std::make_shared<int>(0);
  {
    Generator<int> numbers([resource] {
      auto mine = resource;
      for (int i = 0;; ++i) yield(i);
    });
    CHECK(*numbers.next() == 0);
    CHECK(*numbers.next() == 1);
    CHECK(resource.use_count() == 3);
  }
  CHECK(resource.use_count() == 1);
}

TEST_CASE("generator: one in the frame of a fiber that is dropped: both unwind and nothing is left [HB2]") {
  auto resource = std::make_shared<int>(0);
  const auto count = [](auto hold) {
    return Generator<int>([hold] {
      auto mine = hold;
      for (int i = 0;; ++i) yield(i);
    });
  };
  {
    Fiber outer([&] {
      auto mine = resource;
      Generator<int> inner = count(resource);  // shares the outer one's bindings, and lies on its stack
      for (const int x : inner) yield(x);
    });
    outer.resume();
    CHECK(outer.resume().value.as<int>() == 1);
    CHECK(resource.use_count() == 4);
  }
  CHECK(resource.use_count() == 1);
}

TEST_CASE("kill: a fiber that shares its maker's bindings may outlive the maker and still reads them [HB2]") {
  auto resource = std::make_shared<int>(0);
  Dyn<int> level("level");
  Fiber sharing;
  {
    Fiber maker([&, resource] {
      level.set(5);
      sharing = Fiber(
          [&] {
            yield(level.get());
            level.set(level.get() + 1);
            return level.get();
          },
          "yi");
      yield(1);
    });
    maker.resume();
    CHECK(sharing.resume().value.as<int>() == 5);
    CHECK(resource.use_count() == 2);
  }
  CHECK(resource.use_count() == 1);  // the maker was unwound although its bindings are still in use
  CHECK(sharing.resume().value.as<int>() == 6);
}

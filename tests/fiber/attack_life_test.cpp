// SPDX-License-Identifier: MIT
// Handles, owners and threads at the worst moment: what is destroyed when, by whom, and what must not be.
#include <unwind.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
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

struct Count {
  int& n;
  ~Count() { ++n; }
};

}  // namespace

TEST_CASE("life: a fiber that destroys a suspended one does not keep it, nor who comes to live on its stack") {
  int unwound = 0;
  Fiber other;
  Fiber f([&] {
    {
      Fiber g([] { yield(1); });
      g.resume();
    }
    other = Fiber([&] {
      const Count count{unwound};
      yield(2);
      return 3;
    });
    other.resume();
  });
  f.resume();
  CHECK(f.state() == State::dead);
  CHECK(unwound == 0);
  CHECK(other.can_resume());
  CHECK(other.resume().value.as<int>() == 3);
}

TEST_CASE("life: a fiber that killed another lets it go when it is told to") {
  auto resource = std::make_shared<int>(0);
  Fiber f([&] {
    Fiber g([] { yield(1); });
    g.set_user_slot(new std::shared_ptr<int>(resource), [](void* p) { delete static_cast<std::shared_ptr<int>*>(p); });
    g.resume();
    g.kill();
    g = Fiber();
    return resource.use_count();
  });
  CHECK(f.resume().value.as<long>() == 1);
}

TEST_CASE("life: a suspended fiber with a generator in its frame is unwound with its last handle") {
  int unwound = 0;
  {
    Fiber f([&] {
      const Count count{unwound};
      Generator<int> numbers([&] {
        const Count inner{unwound};
        yield(1);
      });
      numbers.next();
      yield(2);
    });
    f.resume();
  }
  CHECK(unwound == 2);
}

TEST_CASE("life: what shares the bindings of a fiber may outlive it") {
  static Dyn<std::string> name("name");
  Fiber sharer;
  {
    Fiber maker([&] {
      name.set("of the maker, long enough to be on the heap");
      sharer = Fiber(
          [] {
            yield(1);
            return name.get();
          },
          "yi");
      sharer.resume();
      yield(2);
    });
    maker.resume();
  }
  std::vector<Fiber> others;  // on the maker's stack, if that were free
  for (int i = 0; i < 4; ++i) others.emplace_back([] {});
  CHECK(sharer.resume().value.as<std::string>() == "of the maker, long enough to be on the heap");
}

TEST_CASE("life: a handle that a fiber makes to itself after its last one went is a handle") {
  Fiber saved;
  auto handle = std::make_unique<Fiber>();
  *handle = Fiber([&] {
    handle.reset();
    saved = current_fiber();
    yield(1);
    return 2;
  });
  CHECK(handle->resume().value.as<int>() == 1);
  std::vector<Fiber> others;
  for (int i = 0; i < 4; ++i) others.emplace_back([] {});
  CHECK(saved.state() == State::suspended);
  CHECK(saved.resume().value.as<int>() == 2);
}

TEST_CASE("life: a handle made while the fiber is unwound for good refers to one that has ended") {
  Fiber saved;
  struct Saves {
    Fiber& place;
    ~Saves() { place = current_fiber(); }
  };
  {
    Fiber f([&] {
      const Saves saves{saved};
      yield(1);
    });
    f.resume();
  }
  std::vector<Fiber> others;
  for (int i = 0; i < 4; ++i) others.emplace_back([] {});
  CHECK(saved.state() == State::error);
  for (const Fiber& other : others) CHECK(saved.id() != other.id());
}

TEST_CASE("life: a child of a frozen chain that has lost its handle can be held again") {
  Fiber inner([] {
    emit(sig::user(5));
    return 7;
  });
  Fiber outer([&] { return inner.resume().value.as<int>(); }, "5");
  outer.resume();
  inner = Fiber();
  Fiber again = outer.child();
  CHECK(again.state() == State::suspended);
  CHECK(outer.resume().value.as<int>() == 7);
  std::vector<Fiber> others;
  for (int i = 0; i < 4; ++i) others.emplace_back([] {});
  CHECK(again.state() == State::dead);
  CHECK(again.last().value.as<int>() == 7);
}

TEST_CASE("life: the outer fiber whose last handle goes while an inner one runs on its own is unwound after it") {
  int unwound = 0;
  Fiber outer;
  Fiber inner([&] {
    emit(sig::user(5));
    outer = Fiber();
    return 4;
  });
  outer = Fiber(
      [&] {
        const Count count{unwound};
        inner.resume();
      },
      "5");
  outer.resume();
  CHECK(inner.resume().value.as<int>() == 4);
  CHECK(unwound == 1);
}

TEST_CASE("life: and takes an inner one along that only suspended") {
  int unwound = 0;
  Fiber outer;
  Fiber inner([&] {
    const Count count{unwound};
    emit(sig::user(5));
    outer = Fiber();
    yield(4);
  });
  outer = Fiber(
      [&] {
        const Count count{unwound};
        inner.resume();
      },
      "5");
  outer.resume();
  CHECK(has(refusal([&] { inner.resume(); }), "destroyed: "));
  CHECK(unwound == 2);
  CHECK(inner.state() == State::error);
}

TEST_CASE("life: a fiber destroyed at the recursion limit is unwound all the same, and can be killed there") {
  const std::uint32_t limit = recursion_limit();
  int unwound = 0;
  const auto body = [&] {
    const Count count{unwound};
    yield(1);
  };
  Fiber dropped(body);
  Fiber killed(body);
  dropped.resume();
  killed.resume();
  Fiber f([&] {
    set_recursion_limit(1);
    dropped = Fiber();
    killed.kill();
    set_recursion_limit(limit);
  });
  f.resume();
  CHECK(unwound == 2);
}

TEST_CASE("life: a generator destroyed on another thread is unwound there") {
  int unwound = 0;
  Generator<int> numbers([&] {
    const Count count{unwound};
    yield(1);
  });
  numbers.next();
  std::thread([mine = std::move(numbers)] {}).join();
  CHECK(unwound == 1);
}

TEST_CASE("life: a generator of a thread that has gone is unwound, and sees no bindings on the way") {
  static Dyn<int> depth("depth");
  struct Looks {
    bool& bound;
    ~Looks() { bound = depth.bound(); }
  };
  bool bound = true;
  Generator<int> numbers;
  std::thread([&] {
    depth.set(3);
    numbers = Generator<int>([&] {
      const Looks looks{bound};
      yield(1);
    });
    numbers.next();
  }).join();
  numbers = Generator<int>();
  CHECK_FALSE(bound);
}

TEST_CASE("life: a fiber takes the generator in its frame along to another thread") {
  Fiber f([] {
    Generator<int> numbers([] {
      for (int i = 0;; ++i) yield(i);
    });
    int sum = 0;
    for (;;) sum += yield(*numbers.next() + sum).as<int>();
  });
  CHECK(f.resume().value.as<int>() == 0);
  int there = -1;
  std::thread([&] { there = f.resume(10).value.as<int>(); }).join();
  CHECK(there == 11);
  CHECK(f.resume(10).value.as<int>() == 22);
}

TEST_CASE("life: a frozen chain whose inner part shares a thread's bindings stays with that thread") {
  Fiber inner([] { emit(sig::user(5)); }, "yi");
  Fiber outer([&] { inner.resume(); }, "5");
  outer.resume();
  std::string text;
  std::thread([&] { text = refusal([&] { outer.resume(); }); }).join();
  CHECK(has(text, "foreign: "));
  CHECK(has(text, weft_test::called(inner).c_str()));
  outer.resume();
  CHECK(outer.state() == State::dead);
}

TEST_CASE("life: what protect shares inside a fiber moves to another thread with it") {
  static Dyn<int> depth("depth");
  Fiber f([] {
    depth.set(5);
    return protect([] {
             yield(1);
             return depth.get();
           })
        .value.value();
  });
  f.resume();
  int there = 0;
  std::thread([&] { there = f.resume().value.as<int>(); }).join();
  CHECK(there == 5);
}

TEST_CASE("life: an inner part that ran on its own elsewhere is where it was when its generator goes on") {
  Fiber inner;
  std::vector<bool> io;
  Generator<int> numbers([&] {
    inner = Fiber(
        [&] {
          for (int i = 0;; ++i) {
            io.push_back(current_fiber().io_caught());
            if (i % 2 == 0) {
              yield(i);  // past this mask: an element
            } else {
              emit(sig::user(5));
            }
          }
        },
        "5");
    inner.resume();
    inner.resume();
  });
  CHECK(*numbers.next() == 0);
  Fiber sandbox([&] { inner.resume(); }, SignalSet{sig::io});
  sandbox.resume();  // runs inner alone, which stops at its user5
  CHECK(*numbers.next() == 2);
  CHECK(io == std::vector<bool>{false, true, false});
}

TEST_CASE("life: a fiber suspended in a destructor, with an exception in flight, unwinds on when it is destroyed") {
  struct Yields {
    int& after;
    ~Yields() {
      after = yield(1).empty() ? 1 : 2;
      Fiber inner([] { yield(2); }, "e");
      inner.resume();
    }
  };
  int after = 0;
  int unwound = 0;
  {
    Fiber f([&] {
      const Count count{unwound};
      const Yields yields{after};
      throw std::runtime_error("in flight");
    });
    CHECK(f.resume().value.as<int>() == 1);
  }
  CHECK(after == 1);
  CHECK(unwound == 1);
}

TEST_CASE("life: so does one whose destructor waits for a fiber of its own") {
  struct Waits {
    int& unwound;
    ~Waits() {
      Fiber inner(
          [this] {
            const Count count{unwound};
            yield(1);
          },
          "e");
      inner.resume();
      ++unwound;
    }
  };
  int unwound = 0;
  {
    Fiber f([&] {
      const Waits waits{unwound};
      throw std::runtime_error("in flight");
    });
    CHECK(f.resume().value.as<int>() == 1);
  }
  CHECK(unwound == 2);
}

TEST_CASE("life: propagate does not bring a fiber to a thread that it cannot run on") {
  Fiber child([] { yield(1); }, "yi");
  child.resume();
  std::string text;
  std::thread([&] {
    Fiber f([&] { text = refusal([&] { propagate(child); }); });
    f.resume();
  }).join();
  CHECK(has(text, "foreign: "));
  CHECK(child.resume().ok());
}

TEST_CASE("life: the bindings of a thread go with it") {
  static Dyn<std::shared_ptr<int>> held("held");
  auto resource = std::make_shared<int>(0);
  std::thread([&] { held.set(resource); }).join();
  CHECK(resource.use_count() == 1);
}

TEST_CASE("life: an error of a fiber in a destructor at the end of a thread goes with the thread") {
  static std::shared_ptr<int> resource;
  resource = std::make_shared<int>(0);
  struct Last {
    ~Last() {
      Fiber f([] { emit(sig::error, resource); }, "e");
      f.resume();
    }
  };
  std::thread([] {
    static thread_local Last last;  // made before the thread's first fiber: destroyed after what the library keeps
    (void)&last;
    Fiber([] {}).resume();
  }).join();
  CHECK(resource.use_count() == 1);
  resource.reset();
}

TEST_CASE("life: a destroy hook does not find the dying fiber as anybody's last child") {
  static Fiber parent;
  static bool found = true;
  parent = Fiber([] {
    {
      Fiber child([] {});
      child.resume();
      child.set_user_slot(&child, [](void*) { found = static_cast<bool>(parent.last_child()); });
    }
  });
  parent.resume();
  CHECK_FALSE(found);
  parent = Fiber();
}

TEST_CASE("life: an exception that is not C++'s ends the fiber as an error") {
  static _Unwind_Exception foreign{};
  foreign.exception_class = 0x5745465457454654;
  Fiber f([] { _Unwind_RaiseException(&foreign); }, "e");
  CHECK(f.resume().bits == sig::error);
  CHECK(f.state() == State::error);
}

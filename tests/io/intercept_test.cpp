// SPDX-License-Identifier: MIT
// Who is asked before a request goes out: fibers that catch io, and intercept().
#include "weft/intercept.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/blocking_io.hpp"
#include "weft/file.hpp"
#include "weft/future.hpp"
#include "weft/io.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/registry.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Of a descriptor that is none: a request that nobody intercepts gets EBADF.
weft::IoResult read_nowhere(char* into, std::size_t size) {
  weft::IoRequest request;
  request.op = weft::IoOp::read;
  request.fd = 1'000'000;
  request.data = into;
  request.size = size;
  return weft::perform_io(request);
}
weft::IoResult open_file() {
  weft::IoRequest request;
  request.op = weft::IoOp::open;
  request.path = "/dev/null";
  request.flags = O_RDONLY | O_CLOEXEC;
  return weft::perform_io(request);
}
void close_file(int fd) {
  weft::IoRequest request;
  request.op = weft::IoOp::close;
  request.fd = fd;
  (void)weft::perform_io(request);
}

weft::IoResult deny(weft::IoRequest& request) {
  return request.op == weft::IoOp::open ? weft::IoResult::failed(EACCES) : weft::perform_io(request);
}

// The system calls that one thread makes through the seam, from start() on. Static: another thread may be on its way
// through the seam when the counting ends.
struct OwnCalls {
  OwnCalls() {
    calls = -1;
    weft::detail::sys::set_interceptor(count, nullptr);
  }
  ~OwnCalls() { weft::detail::sys::set_interceptor(nullptr, nullptr); }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;
  void start() {
    thread = pthread_self();
    calls = 0;
  }
  static bool count(const weft::detail::sys::Call&, long*, void*) {
    if (calls >= 0 && pthread_equal(thread, pthread_self()) != 0) ++calls;
    return false;
  }
  static inline std::atomic<pthread_t> thread{};
  static inline std::atomic<int> calls{-1};
};

}  // namespace

TEST_CASE(
    "io request: raised as yield and io with the request as payload, before any system call [E-076] [E-080] [E-081]") {
  in_each_universe([](const Universe&) {
    char byte = 0;
    OwnCalls own;
    weft::Fiber fiber(
        [&] {
          own.start();
          return read_nowhere(&byte, 1).value();
        },
        weft::Mask(weft::sig::io));
    const weft::Event& event = fiber.resume();
    CHECK(own.calls == 0);
    (void)weft::detail::sys::getpid();
    CHECK(own.calls == 1);
    CHECK(event.bits == (weft::sig::yield | weft::sig::io));
    CHECK(weft::sig::io == weft::SignalSet::bit(9));
    CHECK_FALSE(fiber.finished());
    weft::IoRequest* request = event.value.as<weft::IoRequest*>();
    CHECK(request->op == weft::IoOp::read);
    CHECK(request->fd == 1'000'000);
    CHECK(request->size == 1);
    // The backend: answers into the request's own buffer.
    *static_cast<char*>(request->data) = 'm';
    CHECK(fiber.resume(weft::IoResult(1)).value.as<long>() == 1);
    CHECK(byte == 'm');
  });
}

TEST_CASE("io request: without anybody who catches io it goes to the Io in force") {
  in_each_universe([](const Universe&) {
    char byte = 0;
    CHECK(read_nowhere(&byte, 1).os_error() == EBADF);
    weft::Fiber plain([&] { return read_nowhere(&byte, 1).os_error(); }, weft::Mask("t"));
    CHECK(plain.resume().value.as<int>() == EBADF);
  });
}

TEST_CASE("io request: a scheduler dispatches to a backend; ok and error both come back to the fiber [E-082] [E-083]") {
  in_each_universe([](const Universe&) {
    const auto mock = [](weft::IoRequest& request) -> weft::IoResult {
      if (request.size == 1) return weft::IoResult(1);
      return weft::IoResult::failed(EIO);
    };
    std::string log;
    char room[2];
    weft::Fiber fiber(
        [&] {
          log += read_nowhere(room, 1).ok() ? "ok " : "bad ";
          log += read_nowhere(room, 2).os_error() == EIO ? "eio " : "bad ";
          try {
            (void)read_nowhere(room, 1);
          } catch (const std::runtime_error& error) {
            log += error.what();
          }
        },
        weft::Mask(weft::sig::io));
    const weft::Event* event = &fiber.resume();
    for (int i = 0; i < 2; ++i) event = &fiber.resume(mock(*event->value.as<weft::IoRequest*>()));
    fiber.cancel(std::make_exception_ptr(std::runtime_error("backend gone")));
    CHECK(fiber.finished());
    CHECK(log == "ok eio backend gone");
  });
}

TEST_CASE("io request: an answer that is none is an error at the asker") {
  weft::run(workers(1), [] {
    char byte = 0;
    weft::Fiber fiber([&] { CHECK_THROWS_AS((void)read_nowhere(&byte, 1), std::logic_error); },
                      weft::Mask(weft::sig::io));
    (void)fiber.resume();
    (void)fiber.resume(std::string("what?"));
    CHECK(fiber.finished());
  });
}

TEST_CASE("io forms: a scheduler tells the four apart by testing bits [E-084] [E-085] [E-086] [E-087]") {
  const weft::SignalSet audit = *weft::register_signal("intercept_audit");
  const auto kind = [&](weft::SignalSet bits) -> std::string {
    if (bits.contains(weft::sig::io | weft::sig::error)) return "failed io";
    if (bits.contains(weft::sig::io | audit)) return "audited io";
    if (bits.contains(weft::sig::io)) return "io";
    return "yield";
  };
  std::string log;
  weft::Fiber fiber(
      [&] {
        weft::yield(1);
        weft::emit(weft::sig::yield | weft::sig::io, 2);
        weft::emit(weft::sig::io | weft::sig::error, 3);
        weft::emit(weft::sig::yield | weft::sig::io | audit, 4);
      },
      weft::Mask(weft::sig::yield | weft::sig::io));
  for (const weft::Event* event = &fiber.resume(); !fiber.finished(); event = &fiber.resume())
    log += kind(event->bits) + std::to_string(event->value.as<int>()) + " ";
  CHECK(log == "yield1 io2 failed io3 audited io4 ");
}

TEST_CASE("io forms: two schedulers in one program, one that catches yield only and one that names io [E-088]") {
  weft::run(workers(1), [] {
    char byte = 0;
    const auto body = [&] {
      weft::yield(1);
      return read_nowhere(&byte, 1).os_error();
    };
    // By plain overlap a set of yield sees both; what they mean is its business.
    weft::Fiber simple(body, weft::Mask(weft::sig::yield));
    CHECK(simple.resume().bits == weft::sig::yield);
    CHECK(simple.resume().bits == (weft::sig::yield | weft::sig::io));
    CHECK(simple.resume(weft::IoResult::failed(ENOTSUP)).value.as<int>() == ENOTSUP);
    weft::Fiber full(body, weft::Mask(weft::sig::yield | weft::sig::io));
    CHECK(full.resume().bits == weft::sig::yield);
    CHECK(full.resume().bits.contains(weft::sig::io));
    CHECK(full.resume(weft::IoResult(0)).value.as<int>() == 0);
    // Janet's letters let io through: the request goes out.
    weft::Fiber letters(body, weft::Mask("y"));
    CHECK(letters.resume().bits == weft::sig::yield);
    CHECK(letters.resume().value.as<int>() == EBADF);
  });
}

TEST_CASE("intercept: a mock, a log, a limit and a sandbox [N-057]") {
  in_each_universe([](const Universe&) {
    char byte = 0;
    // A mock.
    const auto mocked = weft::intercept(
        [](weft::IoRequest& request) {
          std::memset(request.data, 'z', request.size);
          return weft::IoResult(static_cast<long>(request.size));
        },
        [&] { return read_nowhere(&byte, 1).value(); });
    CHECK(mocked == 1);
    CHECK(byte == 'z');
    // A log, around the real thing.
    std::string log;
    weft::intercept(
        [&](weft::IoRequest& request) {
          const weft::IoResult result = weft::perform_io(request);
          log += std::string(weft::to_string(request.op)) + (result.ok() ? "+ " : "- ");
          return result;
        },
        [&] {
          const weft::IoResult fd = open_file();
          REQUIRE(fd.ok());
          close_file(static_cast<int>(fd.value()));
          (void)read_nowhere(&byte, 1);
        });
    CHECK(log == "open+ close+ read- ");
    // A limit.
    int left = 2;
    weft::intercept(
        [&](weft::IoRequest& request) {
          return left-- > 0 ? weft::perform_io(request) : weft::IoResult::failed(EDQUOT);
        },
        [&] {
          CHECK(read_nowhere(&byte, 1).os_error() == EBADF);
          CHECK(read_nowhere(&byte, 1).os_error() == EBADF);
          CHECK(read_nowhere(&byte, 1).os_error() == EDQUOT);
        });
    // A sandbox.
    weft::intercept(deny, [] {
      CHECK(open_file().os_error() == EACCES);
      CHECK_THROWS_AS((void)weft::File::open("/dev/null"), std::system_error);
    });
    const weft::IoResult after = open_file();
    CHECK(after.ok());
    close_file(static_cast<int>(after.value()));
  });
}

TEST_CASE("intercept: what f returns and throws comes out; what the handler throws is raised at the asker") {
  weft::run(workers(1), [] {
    CHECK(weft::intercept(deny, [] { return std::string("value"); }) == "value");
    CHECK_THROWS_WITH(weft::intercept(deny, [] { throw std::runtime_error("inside"); }), "inside");
    bool caught = false;
    weft::intercept([](weft::IoRequest&) -> weft::IoResult { throw std::runtime_error("handler"); },
                    [&] {
                      try {
                        (void)open_file();
                      } catch (const std::runtime_error&) {
                        caught = true;
                      }
                    });
    CHECK(caught);
    // A signal io of the program's own is not for it.
    weft::Fiber outer([] { weft::intercept(deny, [] { weft::emit(weft::sig::io, 5); }); }, weft::Mask(weft::sig::io));
    CHECK(outer.resume().value.as<int>() == 5);
    CHECK(outer.resume().ok());
    CHECK(outer.finished());
  });
}

TEST_CASE("intercept: nothing that is spawned inside escapes it, by whatever way it is spawned [N-058] [HB7]") {
  in_each_universe([](const Universe& universe) {
    std::atomic<int> denied{0};
    const auto tries = [&] {
      if (universe.workers > 1) weft::yield_now();
      const weft::IoResult got = open_file();
      if (got.os_error() == EACCES) ++denied;
      if (got.ok()) close_file(static_cast<int>(got.value()));
    };
    int expected = 0;
    weft::intercept(deny, [&] {
      weft::with_nursery([&](weft::Nursery& n) {
        n.start(tries);
        universe.spawn(n, tries).join();
        n.start([&] { weft::with_nursery([&](weft::Nursery& inner) { inner.start(tries); }); });
      });
      expected += 3;
      weft::go(tries).join();
      weft::async(tries).await();
      expected += 2;
      weft::par(tries, tries, tries);
      expected += 3;
      // From a fiber that was born without bindings.
      weft::Fiber bare(
          [&] {
            weft::go(tries).join();
            weft::with_nursery([&](weft::Nursery& n) { n.start(tries); });
            weft::par(tries, tries);
            tries();
          },
          weft::Mask(""));
      (void)bare.resume();
      expected += 5;
      // With another door set inside.
      weft::BlockingIo mine;
      weft::with_io(mine, [&] {
        tries();
        weft::async(tries).await();
        weft::go(tries).join();
      });
      expected += 3;
      // A door set in the child.
      weft::go([&] { weft::with_io(mine, tries); }).join();
      expected += 1;
    });
    CHECK(denied == expected);
    tries();
    CHECK(denied == expected);
  });
}

TEST_CASE("intercept: a chain that was frozen outside is caught inside, and free again outside [HB7]") {
  weft::run(workers(1), [] {
    const auto body = [] {
      int last = 0;
      for (;;) {
        const weft::IoResult got = open_file();
        last = got.os_error();
        if (got.ok()) close_file(static_cast<int>(got.value()));
        weft::emit(weft::sig::user(5), last);
      }
    };
    weft::Fiber inner(body, weft::Mask(weft::sig::user(5)));
    weft::Fiber outer(
        [&]() -> int {
          for (;;) weft::emit(weft::sig::user(6), inner.resume().value.as<int>());
        },
        weft::Mask(weft::sig::user(6)));
    CHECK(outer.resume().value.as<int>() == 0);
    weft::intercept(deny, [&] { CHECK(outer.resume().value.as<int>() == EACCES); });
    CHECK(outer.resume().value.as<int>() == 0);
    weft::intercept(deny, [&] { CHECK(inner.resume().value.as<int>() == EACCES); });
    CHECK(inner.resume().value.as<int>() == 0);
  });
}

TEST_CASE("intercept: one inside another: the inner is asked first, then the outer, in tasks as in fibers [N-057]") {
  in_each_universe([](const Universe&) {
    weft::intercept(
        [](weft::IoRequest& request) {
          request.size += 1;
          return weft::IoResult(static_cast<long>(request.size));
        },
        [] {
          weft::intercept(
              [](weft::IoRequest& request) {
                request.size *= 10;
                return weft::perform_io(request);
              },
              [] {
                CHECK(read_nowhere(nullptr, 4).value() == 41);
                CHECK(weft::async([] { return read_nowhere(nullptr, 5).value(); }).await() == 51);
                weft::go([] {
                  CHECK(weft::async([] { return read_nowhere(nullptr, 6).value(); }).await() == 61);
                }).join();
              });
          CHECK(weft::async([] { return read_nowhere(nullptr, 7).value(); }).await() == 8);
        });
  });
}

TEST_CASE("intercept: a handler outlives intercept() with the tasks that were started inside [N-058]") {
  weft::run(workers(2), [] {
    std::atomic<bool> go{false};
    weft::Task<int> late;
    {
      const std::string reason = "a string of the handler's own, long enough for the heap";
      weft::intercept([reason](weft::IoRequest&) { return weft::IoResult::failed(reason.size() > 10 ? EACCES : EIO); },
                      [&] {
                        late = weft::go([&] {
                          while (!go) weft::yield_now();
                          return open_file().os_error();
                        });
                      });
    }
    go = true;
    CHECK(late.join() == EACCES);
  });
}

TEST_CASE("intercept: a raw fiber that catches io is asked before something inside spawns [HB7] [N-058]") {
  in_each_universe([](const Universe&) {
    const auto answers = [](weft::IoResult answer, auto spawn) {
      int questions = 0;
      weft::Fiber sandbox(
          [&] {
            try {
              spawn();
              return 0;
            } catch (const std::system_error& error) {
              return error.code().value();
            }
          },
          weft::Mask(weft::sig::io));
      const weft::Event* event = &sandbox.resume();
      while (!sandbox.finished()) {
        CHECK(event->bits == weft::sig::io);
        CHECK(event->value.as<weft::IoRequest*>()->op == weft::IoOp::task);
        ++questions;
        event = &sandbox.resume(answer);
      }
      return std::pair(questions, event->value.as<int>());
    };
    std::atomic<int> ran{0};
    const auto child = [&] { ++ran; };
    const auto by_go = [&] { weft::go(child).join(); };
    const auto by_async = [&] { weft::async(child).await(); };
    const auto by_nursery = [&] { weft::with_nursery([&](weft::Nursery& n) { n.start(child); }); };
    CHECK(answers(weft::IoResult::failed(EPERM), by_go) == std::pair(1, EPERM));
    CHECK(answers(weft::IoResult::failed(EPERM), by_async) == std::pair(1, EPERM));
    CHECK(answers(weft::IoResult::failed(EPERM), by_nursery) == std::pair(1, EPERM));
    CHECK(ran == 0);
    CHECK(answers(weft::IoResult(), by_go) == std::pair(1, 0));
    CHECK(answers(weft::IoResult(), by_async) == std::pair(1, 0));
    CHECK(answers(weft::IoResult(), by_nursery) == std::pair(1, 0));
    CHECK(ran == 3);
  });
}

// SPDX-License-Identifier: MIT
// The cases of asio_test.cpp and asio_boost_test.cpp, which name their Asio `net` and its error code `NetError`.
// Functions here and cases there: a ctest runs the cases of one source file.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::use_fiber;

namespace {

// A context with threads of its own.
class Threads {
 public:
  explicit Threads(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { context.run(); });
  }
  ~Threads() {
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }
  net::io_context context;

 private:
  net::executor_work_guard<net::io_context::executor_type> work_{context.get_executor()};
  std::vector<std::thread> threads_;
};

using Tcp = net::ip::tcp;
Tcp::endpoint loopback() {
  return {net::ip::address_v4::loopback(), 0};
}

// An operation of our own that completes with an exception_ptr, or two values, or nothing but its destruction.
template <class... Args, class Token, class... Given>
auto complete_with(net::io_context& context, Token&& token, Given... given) {
  return net::async_initiate<Token, void(Args...)>(
      [&context](auto handler, auto... values) {
        net::post(context, [handler = std::move(handler), values...]() mutable { handler(std::move(values)...); });
      },
      token, given...);
}

// Posts the operation, but refuses to bring it a cancellation.
struct Refusing {
  net::io_context* context;
  template <class F>
  void execute(F&&) const {
    throw std::runtime_error("refused");
  }
};
struct OnRefusing {
  net::io_context* context;
  Refusing get_executor() const { return {context}; }
  template <class Handler>
  void operator()(Handler handler, char* room) const {
    auto timer = std::make_shared<net::steady_timer>(*context, 20ms);
    timer->async_wait([timer, room, handler = std::move(handler)](const NetError&) mutable {
      *room = 'x';
      handler();
    });
  }
};

struct WithoutDefault {  // as the socket of an accept
  explicit WithoutDefault(int) {}
};
struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied&) { throw std::length_error("copied"); }
};

void awaits_a_timer() {
  for (const int threads : {1, 3}) {
    Threads pool(threads);
    weft::run(workers(1), [&] {
      const auto begin = std::chrono::steady_clock::now();
      net::steady_timer soon(pool.context, 5ms);
      soon.async_wait(use_fiber);
      CHECK(std::chrono::steady_clock::now() - begin >= 5ms);
      // Ended by one who runs on the only worker while this one waits.
      net::steady_timer endless(pool.context, 1h);
      weft::with_nursery([&](weft::Nursery& nursery) {
        nursery.start([&] { net::post(pool.context, [&] { endless.cancel(); }); });
        CHECK_THROWS_AS(endless.async_wait(use_fiber), NetSystemError);
      });
      // Many at once, completed by any thread.
      std::atomic<int> fired{0};
      weft::with_nursery([&](weft::Nursery& nursery) {
        for (int i = 0; i < 200; ++i)
          nursery.start([&, i] {
            net::steady_timer timer(pool.context, std::chrono::microseconds(i * 7 % 50));
            timer.async_wait(use_fiber);
            ++fired;
          });
      });
      CHECK(fired == 200);
    });
  }
}

void echoes_over_sockets() {
  Threads pool(2);
  weft::run(workers(2), [&] {
    Tcp::acceptor acceptor(pool.context, loopback());
    const Tcp::endpoint where = acceptor.local_endpoint();
    weft::with_nursery([&](weft::Nursery& nursery) {
      nursery.start([&] {
        NetError error;
        Tcp::socket client = acceptor.async_accept(use_fiber[error]);
        CHECK_FALSE(error);
        char room[64];
        for (;;) {
          const std::size_t n = client.async_read_some(net::buffer(room), use_fiber[error]);
          if (error == net::error::eof) break;
          CHECK_FALSE(error);
          net::async_write(client, net::buffer(room, n), use_fiber);
        }
      });
      Tcp::socket socket(pool.context);
      socket.async_connect(where, use_fiber);
      for (int round = 0; round < 50; ++round) {
        const std::string text = "round " + std::to_string(round);
        CHECK(net::async_write(socket, net::buffer(text), use_fiber) == text.size());
        std::string back(text.size(), ' ');
        CHECK(net::async_read(socket, net::buffer(back), use_fiber) == text.size());
        CHECK(back == text);
      }
      socket.shutdown(Tcp::socket::shutdown_send);
      char byte = 0;
      try {
        socket.async_read_some(net::buffer(&byte, 1), use_fiber);
        CHECK(false);
      } catch (const NetSystemError& error) {
        CHECK(error.code() == net::error::eof);
      }
    });
    acceptor.close();
    Tcp::socket refused(pool.context);
    NetError error;
    refused.async_connect(where, use_fiber[error]);
    CHECK(error == net::error::connection_refused);
    CHECK_THROWS_AS(refused.async_connect(where, use_fiber), NetSystemError);
  });
}

void cancel_crosses() {
  Threads pool(2);
  weft::run(workers(2), [&] {
    Tcp::acceptor acceptor(pool.context, loopback());
    Tcp::socket near(pool.context);
    Tcp::socket far(pool.context);
    weft::with_nursery([&](weft::Nursery& nursery) {
      nursery.start([&] { far = acceptor.async_accept(use_fiber); });
      near.async_connect(acceptor.local_endpoint(), use_fiber);
    });
    // A deadline, a cancel by hand, of a timer and of a read.
    net::steady_timer timer(pool.context, 1h);
    CHECK_FALSE(weft::timeout(2ms, [&] { timer.async_wait(use_fiber); }));
    char byte = 0;
    CHECK_FALSE(weft::timeout(2ms, [&] { (void)near.async_read_some(net::buffer(&byte, 1), use_fiber); }));
    CHECK_FALSE(weft::timeout(2ms, [&] { (void)net::async_read(near, net::buffer(&byte, 1), use_fiber); }));
    weft::with_nursery([&](weft::Nursery& nursery) {
      auto task = nursery.spawn([&] { timer.async_wait(use_fiber); });
      until_parked(task);
      task.cancel();
      task.wait();
      CHECK(task.status() == weft::TaskStatus::cancelled);
      auto told = nursery.spawn([&] {
        NetError error;
        (void)near.async_read_some(net::buffer(&byte, 1), use_fiber[error]);
        const bool aborted = error == net::error::operation_aborted;
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {  // at the next point
          return aborted;
        }
        return false;
      });
      until_parked(told);
      told.cancel();
      CHECK(told.join());
    });
    // The socket is whole: nothing was taken.
    net::async_write(far, net::buffer("x", 1), use_fiber);
    CHECK(near.async_read_some(net::buffer(&byte, 1), use_fiber) == 1);
    CHECK(byte == 'x');
    // Asio's own cancel is its own error, no Cancelled.
    auto waits = weft::go([&] { timer.async_wait(use_fiber); });
    until_parked(waits);
    weft::SyncEvent cancelled;  // it is done with the timer
    net::post(pool.context, [&] {
      timer.cancel();
      cancelled.set();
    });
    CHECK_THROWS_AS(waits.join(), NetSystemError);
    cancelled.wait();
  });
}

void has_all_shapes() {
  Threads pool(1);
  weft::run(workers(2), [&] {
    CHECK(complete_with<int>(pool.context, use_fiber, 7) == 7);
    CHECK(complete_with<int, std::string>(pool.context, use_fiber, 7, std::string("x")) == std::tuple(7, "x"));
    complete_with<>(pool.context, use_fiber);
    complete_with<std::exception_ptr>(pool.context, use_fiber, std::exception_ptr());
    CHECK_THROWS_AS(complete_with<std::exception_ptr>(pool.context, use_fiber,
                                                      std::make_exception_ptr(std::out_of_range("inside"))),
                    std::out_of_range);
    CHECK(complete_with<NetError, int>(pool.context, use_fiber, NetError(), 3) == 3);
    // A context that goes with the operation in it.
    auto gone = std::make_unique<net::io_context>();
    auto waits = weft::go([&] { return complete_with<int>(*gone, use_fiber, 1); });
    auto stored = weft::go([&] {
      NetError error;
      complete_with<NetError>(*gone, use_fiber[error], NetError());
      return error == net::error::operation_aborted;
    });
    NetError error;
    auto thrown = weft::go(
        [&] { (void)complete_with<NetError, WithoutDefault>(*gone, use_fiber[error], NetError(), WithoutDefault(1)); });
    until_parked(waits);
    until_parked(stored);
    until_parked(thrown);
    gone.reset();
    CHECK_THROWS_AS((void)waits.join(), NetSystemError);
    CHECK(stored.join());
    CHECK_THROWS_AS(thrown.join(), NetSystemError);  // there is no value to give with the error
    CHECK(error == net::error::operation_aborted);
  });
}

void waits_for_a_refused_cancel() {
  Threads pool(1);
  weft::run(workers(1), [&] {
    char room = ' ';
    bool kept = false;
    CHECK_FALSE(weft::timeout(1ms, [&] {
      net::async_initiate<const weft::UseFiber&, void()>(OnRefusing{&pool.context}, use_fiber, &room);
      kept = room == 'x';
      weft::sleep(1h);
    }));
    CHECK(kept);
  });
}

void throws_a_result_that_cannot_be_kept() {
  Threads pool(1);
  weft::run(workers(1), [&] {
    const auto initiation = [&](auto handler) {
      net::post(pool.context, [handler = std::move(handler)]() mutable {
        const ThrowsWhenCopied result;
        handler(result);
      });
    };
    using Token = const weft::UseFiber&;
    CHECK_THROWS_AS((net::async_initiate<Token, void(const ThrowsWhenCopied&)>(initiation, use_fiber)),
                    std::length_error);
  });
}

}  // namespace

// SPDX-License-Identifier: MIT
// Transfers that move less than they were asked for, are refused for a while, or are interrupted: nothing is lost or
// comes twice, and nobody hangs.
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "io/injector.hpp"
#include "io/uring_sizes.hpp"
#include "weft/blocking.hpp"
#include "weft/file.hpp"
#include "weft/nursery.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

constexpr int times = 200;

std::string some_bytes(int seed) {
  std::string bytes(24, ' ');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>('a' + (seed + static_cast<int>(i)) % 26);
  return bytes;
}

// 24 bytes through a lane by calls that move five at most.
bool passes(Lane& lane, int seed, bool pieces) {
  const std::string sent = some_bytes(seed);
  std::string got(sent.size(), ' ');
  with_nursery([&](Nursery& nursery) {
    nursery.start([&] {
      const std::string_view all = sent;
      if (!pieces) return lane.out.write_all(all);
      const std::vector<Bytes> three{all.substr(0, 7), all.substr(7, 7), all.substr(14)};
      lane.out.writev_all(three);
    });
    if (!pieces) return lane.in.read_exactly({got.data(), got.size()});
    for (std::size_t n = 0; n < got.size();) {
      const std::size_t half = (got.size() - n + 1) / 2;
      const std::vector<Room> rooms{{got.data() + n, half}, {got.data() + n + half, got.size() - n - half}};
      n += lane.in.readv(rooms);
    }
  });
  return got == sent;
}

// "abc", which ends a read, and "def", at once, to somebody who waits: by one who hands over a descriptor.
void say_with_descriptor(int fd) {
  char room[CMSG_SPACE(sizeof(int))] = {};
  std::string text = "abc";
  iovec piece{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  CHECK(::sendmsg(fd, &message, 0) == 3);
  CHECK(::send(fd, "def", 3, 0) == 3);
}
// The same, by one who has something urgent to say in between.
void say_urgently(int fd) {
  CHECK(::send(fd, "abc", 3, 0) == 3);
  CHECK(::send(fd, "!", 1, MSG_OOB) == 1);
  CHECK(::send(fd, "def", 3, 0) == 3);
}

// What goes through a ring moves five bytes at most.
struct ShortByRing {
  ShortByRing() { uring_sizes.bytes = 5; }
  ~ShortByRing() { uring_sizes = UringSizes(); }
  ShortByRing(const ShortByRing&) = delete;
  ShortByRing& operator=(const ShortByRing&) = delete;
};

}  // namespace

TEST_CASE("transfers: a read that ends before what has come is followed by one that gets the rest [EPO-3]") {
  const struct {
    const char* name;
    Lane (*make)();
    void (*say)(int);
  } kinds[] = {{"descriptors", unix_lane, say_with_descriptor}, {"urgent data", tcp_lane, say_urgently}};
  for (const IoEngine engine : engines()) {
    Runtime(with_engine(engine, 1)).run([&] {
      for (const auto& kind : kinds) {
        Lane lane = kind.make();
        std::vector<std::string> got;
        with_nursery([&](Nursery& nursery) {
          auto reader = nursery.spawn([&] {
            char room[64];
            while (got.size() < 4) got.emplace_back(room, lane.in.read(room));
          });
          for (std::size_t said = 0; said < 4; said += 2) {
            while (got.size() < said) yield_now();
            until_parked(reader);
            kind.say(lane.out.fd());
          }
        });
        const std::vector<std::string> said{"abc", "def", "abc", "def"};
        CHECK_MESSAGE(got == said, kind.name);
      }
    });
  }
}

TEST_CASE("transfers: short counts of every transfer lose nothing, double nothing and hang nobody [N-091]") {
  const struct {
    const char* name;
    Lane (*make)();
    bool pieces;
    bool by_ring;
    bool reads = true;
  } kinds[] = {{"recvfrom and sendto", unix_lane, false, false},
               {"recvmsg and sendmsg", unix_lane, true, true},
               {"of TCP", tcp_lane, false, true, false},  // a short read would be the kernel's word that it was all
               {"read and write", pipe_lane, false, true},
               {"readv and writev", pipe_lane, true, true}};
  for (const IoEngine engine : engines()) {
    Injector injector;
    const ShortByRing by_ring;
    Runtime runtime(with_engine(engine, 2));
    runtime.run([&] {
      for (const auto& kind : kinds) {
        std::vector<Lane> lanes;
        for (int i = 0; i < times; ++i) lanes.push_back(kind.make());
        const long before = injector.shortened();
        std::atomic<int> passed{0};
        injector.shorten(5, kind.reads);
        with_nursery([&](Nursery& nursery) {
          for (int i = 0; i < times; ++i)
            nursery.start([&, i] { passed += passes(lanes[static_cast<std::size_t>(i)], i, kind.pieces) ? 1 : 0; });
        });
        injector.shorten(0);
        CHECK_MESSAGE(passed == times, kind.name);
        if (engine == IoEngine::epoll || !kind.by_ring)
          CHECK_MESSAGE(injector.shortened() - before >= times, kind.name);
      }
      if (engine == IoEngine::uring) {
        Lane lane = unix_lane();
        char room[24];
        with_nursery([&](Nursery& nursery) {
          auto reader = nursery.spawn([&] { return lane.in.read(room); });
          until_parked(reader);
          CHECK(::send(lane.out.fd(), some_bytes(0).data(), 24, 0) == 24);
          CHECK(reader.join() == 5);  // what waits goes through the ring
        });
      }
      std::string path = std::string(faults_folder) + "XXXXXX";
      REQUIRE(mkdtemp(path.data()) != nullptr);
      for (int i = 0; i < times; ++i) {
        const std::string file = path + "/file";
        injector.shorten(5);
        write_file(file, some_bytes(i));
        const std::string got = read_file(file);
        injector.shorten(0);
        REQUIRE(got == some_bytes(i));
      }
      remove_file(path + "/file");
      remove_directory(path);
    });
  }
}

TEST_CASE("transfers: storms of EAGAIN end, and nothing is lost by them, 200 times each [N-091]") {
  constexpr int storm = 5;
  for (const IoEngine engine : engines()) {
    const bool rings = engine == IoEngine::uring;
    Injector injector;
    Runtime runtime(with_engine(engine, 2));
    runtime.run([&] {
      const auto endure = [&](long number, Lane lane, bool reads) {
        constexpr char nudge = 100;  // carries nothing
        char sent = 0;
        char got = 0;
        const auto send = [&] {
          sent = static_cast<char>((sent + 1) % nudge);
          lane.out.write_all({&sent, 1});
        };
        const auto receive = [&] {
          char byte = 0;
          lane.in.read_exactly({&byte, 1});
          if (byte == nudge) return;
          got = static_cast<char>((got + 1) % nudge);
          if (byte != got) FAIL("out of order");
        };
        for (int i = 0; i < times; ++i) {
          injector.arm(number, EAGAIN, storm);
          std::atomic<bool> through{false};
          SyncEvent moved;
          injector.tell(&moved);
          with_nursery([&](Nursery& nursery) {
            nursery.start([&] {
              reads ? receive() : send();
              through = true;
              moved.set();
            });
            // What the storm hits asks again at each event: the other side makes one whenever it has been hit.
            while (!through) {
              moved.reset();
              if (reads) {
                send();
              } else {
                CHECK(::send(lane.out.fd(), &nudge, 1, MSG_DONTWAIT) == 1);
                receive();
              }
              moved.wait();
            }
          });
          if (!rings) REQUIRE(injector.spent());
          injector.disarm();
          injector.tell(nullptr);
          while (got != sent) receive();
        }
      };
      endure(SYS_recvfrom, unix_lane(), true);
      endure(SYS_recvfrom, tcp_lane(), true);
      endure(SYS_read, pipe_lane(), true);
      endure(SYS_sendto, unix_lane(), false);
    });
  }
}

TEST_CASE(
    "transfers: a ring that takes nothing for a while takes it later, and its bell is not lost, 200 times each "
    "[N-091]") {
  if (!has_uring()) return;
  for (const unsigned count : {1U, 2U}) {
    for (const int error : {EAGAIN, EBUSY, ENOMEM, EINTR}) {
      Injector injector;
      Runtime runtime(with_engine(IoEngine::uring, count));
      runtime.run([&] {
        Lane there = unix_lane();
        Lane back = pipe_lane();
        with_nursery([&](Nursery& nursery) {
          nursery.start([&] {
            char byte = 0;
            for (int i = 0; i < times; ++i) {
              there.in.read_exactly({&byte, 1});
              back.out.write_all({&byte, 1});
            }
          });
          char byte = 'x';
          for (int i = 0; i < times; ++i) {
            injector.arm(SYS_io_uring_enter, error, 1 + i % 4 * 30);
            there.out.write_all({&byte, 1});
            back.in.read_exactly({&byte, 1});
            blocking([] {});  // who ends it has to wake somebody in the poller
          }
        });
        injector.disarm();
      });
    }
  }
}

TEST_CASE("transfers: a ring that takes nothing holds up who waits for it, and nobody else [N-091] [URI-6]") {
  if (!has_uring()) return;
  for (const unsigned count : {1U, 2U}) {
    for (const int error : {EAGAIN, EBUSY, ENOMEM}) {
      Injector injector;
      Runtime runtime(with_engine(IoEngine::uring, count));
      runtime.run([&] {
        std::vector<Lane> lanes;
        for (int i = 0; i < 3; ++i) lanes.push_back(pipe_lane());
        std::atomic<int> through{0};
        with_nursery([&](Nursery& nursery) {
          injector.arm(SYS_io_uring_enter, error, INT_MAX);
          for (Lane& lane : lanes)
            nursery.start([&] {
              char byte = 0;
              lane.in.read_exactly({&byte, 1});
              ++through;
            });
          for (int i = 0; i < 1000; ++i) yield_now();  // who has something to do goes on,
          for (int i = 0; i < 10; ++i) sleep(1ms);     // and times are kept
          CHECK(through == 0);
          injector.disarm();
          for (const Lane& lane : lanes) CHECK(::write(lane.out.fd(), "x", 1) == 1);
        });
        CHECK(through == 3);
      });
    }
  }
}

TEST_CASE("transfers: interrupted waits of the poller change nothing") {
  for (const IoEngine engine : engines()) {
    Injector injector;
    Runtime runtime(with_engine(engine, 1));
    runtime.run([&] {
      auto [a, b] = UnixStream::make_pair();
      with_nursery([&, &in = a, &out = b](Nursery& nursery) {
        nursery.start([&] {
          char byte = 0;
          for (int i = 0; i < 1000; ++i) {
            if (in.read({&byte, 1}) != 1) FAIL("ended");
            in.write_all({&byte, 1});
          }
        });
        char byte = 'x';
        const long calls[] = {SYS_epoll_pwait, SYS_epoll_pwait2, SYS_io_uring_enter};
        for (int i = 0; i < 1000; ++i) {
          injector.arm(calls[i % 3], EINTR);
          out.write_all({&byte, 1});
          if (out.read({&byte, 1}) != 1) FAIL("ended");
        }
        injector.disarm();
      });
    });
  }
}

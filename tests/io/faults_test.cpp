// SPDX-License-Identifier: MIT
// System calls that fail, or do less than they were asked for: each pair of call and error is injected 200 times. The
// operation gives that error, or goes on where the error asks for it; nothing hangs, nothing is lost or comes twice,
// and no descriptor stays behind.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/blocking.hpp"
#include "weft/file.hpp"
#include "weft/net.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

constexpr int times = 200;
constexpr const char* folder = "/tmp/weft-faults-";

// Answers the next calls of one number by an error, or makes all transfers short.
class Injector {
 public:
  Injector() { sys::set_interceptor(answer, this); }
  ~Injector() { sys::set_interceptor(nullptr, nullptr); }
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  void arm(long number, int error, int count = 1) {
    error_ = error;
    number_ = number;
    left_ = count;
  }
  bool spent() const { return left_ <= 0; }
  void disarm() { left_ = 0; }
  void shorten(std::size_t most) { most_ = most; }  // 0: no more
  long shortened() const { return shortened_; }

 private:
  static bool answer(const sys::Call& call, long* result, void* context) {
    auto& mine = *static_cast<Injector*>(context);
    if (mine.left_.load() > 0 && mine.is_meant(call)) {
      if (mine.left_.fetch_sub(1) <= 0) return false;
      *result = -long{mine.error_.load()};
      return true;
    }
    const std::size_t most = mine.most_.load();
    return most != 0 && this_task() != nullptr && mine.short_call(call, most, result);
  }

  bool is_meant(const sys::Call& call) const {
    if (call.number != number_.load()) return false;
    switch (call.number) {
      case SYS_openat:  // others open files, too: the deadlock watch, for one
        return std::strncmp(reinterpret_cast<const char*>(call.args[1]), folder, 17) == 0;
      case SYS_read:
        return this_task() != nullptr;
      case SYS_write:
        return call.args[2] == 1;  // not a bell's
      case SYS_io_uring_enter:
        return call.args[1] != 0 || error_.load() == EINTR;  // to submit something; a wait is only interrupted
      case SYS_mmap:
        return call.args[4] >= 0;  // a ring's
      default:
        return true;
    }
  }

  // The call that was asked for, for fewer bytes: what it moves is right.
  bool short_call(const sys::Call& call, std::size_t most, long* result) {
    const auto go = [&](const sys::Call& c) {
      *result = sys::invoke(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5]);
      return true;
    };
    sys::Call less = call;
    const auto first_of = [&](const iovec* slices) {
      return iovec{slices[0].iov_base, std::min(slices[0].iov_len, most)};
    };
    switch (call.number) {
      case SYS_read:
      case SYS_write:
      case SYS_recvfrom:
      case SYS_sendto:
      case SYS_pread64:
      case SYS_pwrite64: {
        const auto size = static_cast<std::size_t>(call.args[2]);
        if (size <= most || size == 8) return false;  // eight bytes are a bell's
        ++shortened_;
        less.args[2] = static_cast<long>(most);
        return go(less);
      }
      case SYS_readv:
      case SYS_writev: {
        const iovec one = first_of(reinterpret_cast<const iovec*>(call.args[1]));
        ++shortened_;
        less.number = call.number == SYS_readv ? SYS_read : SYS_write;
        less.args[1] = static_cast<long>(reinterpret_cast<std::uintptr_t>(one.iov_base));
        less.args[2] = static_cast<long>(one.iov_len);
        return go(less);
      }
      case SYS_recvmsg:
      case SYS_sendmsg: {
        msghdr header = *reinterpret_cast<const msghdr*>(call.args[1]);
        if (header.msg_iovlen == 1 && header.msg_iov[0].iov_len <= most) return false;
        iovec one = first_of(header.msg_iov);
        header.msg_iov = &one;
        header.msg_iovlen = 1;
        ++shortened_;
        less.args[1] = static_cast<long>(reinterpret_cast<std::uintptr_t>(&header));
        return go(less);
      }
      default:
        return false;
    }
  }

  std::atomic<long> number_{-1};
  std::atomic<int> error_{0};
  std::atomic<int> left_{0};
  std::atomic<std::size_t> most_{0};
  std::atomic<long> shortened_{0};
};

long lowest_free_fd() {
  const long fd = sys::open("/dev/null", O_RDONLY);
  (void)sys::close(static_cast<int>(fd));
  return fd;
}

int code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

struct Fault {
  const char* name;
  long number;
  std::vector<int> errors;   // come out as they are
  std::vector<int> go_ons;   // are not seen by the caller
  std::function<int()> act;  // its error, or 0
};

// `rings`: the engine is io_uring, which makes fewer calls of its own.
void inject_all(Injector& injector, bool rings, const std::vector<Fault>& faults, int& pairs) {
  static const std::set<long> of_rings = {SYS_connect, SYS_accept4, SYS_read,     SYS_write, SYS_openat,
                                          SYS_pread64, SYS_fsync,   SYS_pwrite64, SYS_readv, SYS_writev,
                                          SYS_recvmsg, SYS_sendmsg, SYS_epoll_ctl};
  for (const Fault& fault : faults) {
    if (rings && of_rings.contains(fault.number)) continue;
    const long before = lowest_free_fd();
    const auto each = [&](int error, int expected) {
      // No INFO here: it belongs to the thread, and the task may go on on another one.
      ++pairs;
      for (int i = 0; i < times; ++i) {
        injector.arm(fault.number, error);
        const int got = fault.act();
        const bool spent = injector.spent();
        injector.disarm();
        REQUIRE_MESSAGE(spent, fault.name, " was not called");
        REQUIRE_MESSAGE(got == expected, fault.name, " fails with ", error, ", the operation with ", got);
      }
      CHECK_MESSAGE(lowest_free_fd() == before, fault.name, " leaves a descriptor behind");
    };
    for (const int error : fault.errors) each(error, error);
    for (const int error : fault.go_ons) each(error, 0);
  }
}

// The ring is there, and cannot be mapped: the first part, or the second.
int refuse_rings() {
  int pairs = 0;
  for (const int error : {ENOMEM, EPERM, EAGAIN}) {
    for (const bool forced : {true, false}) {
      ++pairs;
      const long before = lowest_free_fd();
      for (int i = 0; i < times; ++i) {
        Injector injector;
        Runtime runtime(with_engine(forced ? IoEngine::uring : IoEngine::any, 1));
        runtime.run([&] {
          File file;
          injector.arm(SYS_mmap, error, 1 + i % 2);         // twice: the next request's ring as well
          const bool refusal = !forced && error != EAGAIN;  // EAGAIN may be better the next time
          for (int n = 0; n < (refusal ? 1 : 1 + i % 2); ++n)
            REQUIRE(File::open_result(file, "/dev/null").os_error() == (refusal ? 0 : error));
          REQUIRE((refusal || injector.spent()));
          injector.disarm();
          REQUIRE(File::open_result(file, "/dev/null").ok());
          long none = 0;
          REQUIRE(std::string(engine_of(*this_worker()->runtime, none)->name()) == (refusal ? "epoll" : "uring"));
        });
      }
      CHECK(lowest_free_fd() == before);
    }
  }
  return pairs;
}

// One way from a to b, of one kind, and its two ends.
struct Lane {
  Stream in;
  Stream out;
};
Lane unix_lane() {
  auto [a, b] = UnixStream::make_pair();
  return {std::move(b), std::move(a)};
}
Lane pipe_lane() {
  Pipe pipe = make_pipe();
  return {std::move(pipe.reader), std::move(pipe.writer)};
}
Lane tcp_lane() {
  TcpListener listener = TcpListener::bind(Address::loopback());
  TcpStream client = TcpStream::connect(listener.local());
  client.no_delay();
  return {listener.accept(), std::move(client)};
}

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

}  // namespace

TEST_CASE("faults: every error of every call comes out as it is, or is gone over, 200 times each [N-091]") {
  int pairs = 0;
  for (const IoEngine engine : engines()) {
    std::string path = std::string(folder) + "XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    Injector injector;
    Runtime runtime(with_engine(engine, 2));
    runtime.run([&] {
      const std::string file_path = path + "/file";
      write_file(file_path, "0123456789");
      File file = File::open(file_path, {.read = true, .write = true});
      TcpListener listener = TcpListener::bind(Address::loopback());
      const Address where = listener.local();
      auto [a, b] = UnixStream::make_pair();
      Pipe pipe = make_pipe();
      char room[1];  // what is read full is tried first the next time, by either engine
      char more[1];
      const std::vector<Room> rooms{room, more};
      const std::vector<Bytes> two{"x", "y"};
      std::size_t moved = 0;
      const auto connect = [&] {
        TcpStream stream;
        const int error = TcpStream::connect_result(stream, where).os_error();
        if (error == 0) (void)listener.accept();
        return error;
      };
      const auto accept = [&] {
        const TcpStream client = TcpStream::connect(where);
        TcpStream stream;
        const int error = listener.accept_result(stream).os_error();
        injector.disarm();
        if (error != 0) (void)listener.accept();
        return error;
      };
      const auto receive = [&] {
        a.write_all("x");
        const int error = b.read_result(room).os_error();
        if (error != 0) (void)b.read(room);
        return error;
      };
      const auto send = [&] {
        const int error = a.write_result("x").os_error();
        if (error == 0) (void)b.read(room);
        return error;
      };
      const auto receive_two = [&] {
        a.write_all("xy");
        const int error = code_of([&] { moved = b.readv(rooms); });
        if (error != 0) moved = b.readv(rooms);
        CHECK(moved == 2);
        return error;
      };
      const auto send_two = [&] {
        const int error = code_of([&] { moved = a.writev(two); });
        if (error == 0) CHECK(moved + b.readv(rooms) == 4);
        return error;
      };
      const auto read_two = [&] {
        pipe.writer.write_all("xy");
        const int error = code_of([&] { moved = pipe.reader.readv(rooms); });
        if (error != 0) moved = pipe.reader.readv(rooms);
        CHECK(moved == 2);
        return error;
      };
      const auto write_two = [&] {
        const int error = code_of([&] { moved = pipe.writer.writev(two); });
        if (error == 0) CHECK(moved + pipe.reader.readv(rooms) == 4);
        return error;
      };
      const std::vector<Fault> faults = {
          {"socket", SYS_socket, {EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EAFNOSUPPORT}, {}, connect},
          {"connect", SYS_connect, {ECONNREFUSED, ENETUNREACH, ETIMEDOUT, EHOSTUNREACH, EADDRNOTAVAIL}, {}, connect},
          {"accept4", SYS_accept4, {EMFILE, ENFILE, ENOBUFS, ENOMEM}, {EINTR, ECONNABORTED, EPROTO}, accept},
          {"bind",
           SYS_bind,
           {EADDRINUSE, EACCES, EADDRNOTAVAIL},
           {},
           [&] { return code_of([] { (void)TcpListener::bind(Address::loopback()); }); }},
          {"listen",
           SYS_listen,
           {EADDRINUSE, EOPNOTSUPP},
           {},
           [&] { return code_of([] { (void)TcpListener::bind(Address::loopback()); }); }},
          {"recvfrom", SYS_recvfrom, {ECONNRESET, ETIMEDOUT, ENOMEM, EHOSTUNREACH, EIO}, {EINTR}, receive},
          {"sendto", SYS_sendto, {EPIPE, ECONNRESET, ENOBUFS, ENOMEM, EHOSTUNREACH}, {EINTR}, send},
          {"recvmsg", SYS_recvmsg, {ECONNRESET, ENOMEM}, {EINTR}, receive_two},
          {"sendmsg", SYS_sendmsg, {EPIPE, ECONNRESET, ENOBUFS}, {EINTR}, send_two},
          {"readv", SYS_readv, {EIO}, {EINTR}, read_two},
          {"writev", SYS_writev, {EPIPE, ENOSPC, EIO}, {EINTR}, write_two},
          {"read",
           SYS_read,
           {EIO, EBADF},
           {EINTR},
           [&] {
             pipe.writer.write_all("x");
             const int error = pipe.reader.read_result(room).os_error();
             if (error != 0) (void)pipe.reader.read(room);
             return error;
           }},
          {"write",
           SYS_write,
           {EPIPE, ENOSPC, EIO, EDQUOT},
           {EINTR},
           [&] {
             const int error = pipe.writer.write_result("x").os_error();
             if (error == 0) (void)pipe.reader.read(room);
             return error;
           }},
          {"openat",
           SYS_openat,
           {ENOENT, EACCES, EMFILE, ENFILE, ENOSPC, EROFS, ELOOP},
           {EINTR},
           [&] {
             File other;
             return File::open_result(other, file_path).os_error();
           }},
          {"pread64", SYS_pread64, {EIO, ENOMEM}, {EINTR}, [&] { return file.read_at_result(room, 0).os_error(); }},
          {"pwrite64",
           SYS_pwrite64,
           {EIO, ENOSPC, EDQUOT, EFBIG},
           {EINTR},
           [&] { return file.write_at_result("x", 0).os_error(); }},
          {"fsync", SYS_fsync, {EIO, ENOSPC, EDQUOT}, {EINTR}, [&] { return file.sync_result().os_error(); }},
          {"ftruncate", SYS_ftruncate, {EIO, EFBIG}, {EINTR}, [&] { return code_of([&] { file.truncate(10); }); }},
          {"statx", SYS_statx, {EIO}, {}, [&] { return code_of([&] { (void)file.size(); }); }},
          {"getdents64",
           SYS_getdents64,
           {EIO, ENOENT},
           {EINTR},
           [&] { return code_of([&] { (void)list_directory(path); }); }},
          {"mkdirat",
           SYS_mkdirat,
           {ENOSPC, EACCES},
           {},
           [&] { return code_of([&] { make_directory(path + "/no"); }); }},
          {"renameat2",
           SYS_renameat2,
           {EXDEV, EBUSY},
           {},
           [&] { return code_of([&] { rename_file(file_path, file_path + "2"); }); }},
          {"unlinkat", SYS_unlinkat, {EBUSY, EACCES}, {}, [&] { return code_of([&] { remove_file(file_path); }); }},
          {"pipe2", SYS_pipe2, {EMFILE, ENFILE}, {}, [&] { return code_of([] { (void)make_pipe(); }); }},
          {"epoll_ctl",
           SYS_epoll_ctl,
           {ENOMEM, ENOSPC},
           {},
           [&] {
             auto [c, d] = UnixStream::make_pair();
             int error = 0;
             with_nursery([&, &in = c](Nursery& nursery) {
               auto reader = nursery.spawn([&] { return in.read_result(room).os_error(); });
               while (!injector.spent()) yield_now();
               error = reader.join();
             });
             return error;
           }},
      };
      inject_all(injector, engine == IoEngine::uring, faults, pairs);
      remove_file(file_path);
      remove_directory(path);
    });
  }
  // The engine cannot be made: the request says why, and the next one tries again.
  for (const long number : {long{SYS_epoll_create1}, long{SYS_eventfd2}, long{SYS_epoll_ctl}}) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
      ++pairs;
      for (int i = 0; i < times; ++i) {
        Injector injector;
        Runtime runtime(with_engine(IoEngine::epoll, 1));
        runtime.run([&] {
          File file;
          injector.arm(number, error);
          REQUIRE(File::open_result(file, "/dev/null").os_error() == error);
          REQUIRE(File::open_result(file, "/dev/null").ok());
        });
      }
    }
  }
  // A refused ring is no error.
  for (const int error : {EPERM, ENOSYS, ENOMEM, EACCES}) {
    ++pairs;
    for (int i = 0; i < times; ++i) {
      Injector injector;
      Runtime runtime(with_engine(IoEngine::any, 1));
      runtime.run([&] {
        injector.arm(SYS_io_uring_setup, error);
        File file;
        REQUIRE(File::open_result(file, "/dev/null").ok());
        long none = 0;
        REQUIRE(std::string(engine_of(*this_worker()->runtime, none)->name()) == "epoll");
      });
    }
  }
  if (has_uring()) pairs += refuse_rings();
  MESSAGE(pairs, " pairs of call and error");
  CHECK(pairs >= (has_uring() ? 120 : 80));
}

TEST_CASE("faults: short counts of every transfer lose nothing, double nothing and hang nobody [N-091]") {
  const struct {
    const char* name;
    Lane (*make)();
    bool pieces;
    bool by_ring;
  } kinds[] = {{"recvfrom and sendto", unix_lane, false, false},
               {"recvmsg and sendmsg", unix_lane, true, true},
               {"of TCP", tcp_lane, false, false},
               {"read and write", pipe_lane, false, true},
               {"readv and writev", pipe_lane, true, true}};
  for (const IoEngine engine : engines()) {
    Injector injector;
    Runtime runtime(with_engine(engine, 2));
    runtime.run([&] {
      for (const auto& kind : kinds) {
        std::vector<Lane> lanes;
        for (int i = 0; i < times; ++i) lanes.push_back(kind.make());
        const long before = injector.shortened();
        std::atomic<int> passed{0};
        injector.shorten(5);
        with_nursery([&](Nursery& nursery) {
          for (int i = 0; i < times; ++i)
            nursery.start([&, i] { passed += passes(lanes[static_cast<std::size_t>(i)], i, kind.pieces) ? 1 : 0; });
        });
        injector.shorten(0);
        CHECK_MESSAGE(passed == times, kind.name);
        if (engine == IoEngine::epoll || !kind.by_ring)
          CHECK_MESSAGE(injector.shortened() - before >= times, kind.name);
      }
      std::string path = std::string(folder) + "XXXXXX";
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

TEST_CASE("faults: storms of EAGAIN end, and nothing is lost by them, 200 times each [N-091]") {
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
          with_nursery([&](Nursery& nursery) {
            nursery.start([&] {
              reads ? receive() : send();
              through = true;
            });
            // What the storm hits asks again at each event: the other side makes some until it is through.
            while (!through) {
              if (reads) {
                send();
              } else {
                CHECK(::send(lane.out.fd(), &nudge, 1, MSG_DONTWAIT) == 1);
                receive();
              }
              sleep(20us);
            }
          });
          if (!rings) REQUIRE(injector.spent());
          injector.disarm();
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
    "faults: a ring that takes nothing for a while takes it later, and its bell is not lost, 200 times each [N-091]") {
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

TEST_CASE("faults: interrupted waits of the poller change nothing") {
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

// SPDX-License-Identifier: MIT
// System calls that fail: each pair of call and error is injected 200 times. The operation gives that error, or goes on
// where the error asks for it; nothing hangs, and no descriptor stays behind.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "io/injector.hpp"
#include "weft/file.hpp"
#include "weft/nursery.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;

namespace {

constexpr int times = 200;

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
      // Not at once: sysmon looks at a thread by a descriptor, for a moment.
      CHECK_MESSAGE(eventually([&] { return lowest_free_fd() == before; }), fault.name, " leaves a descriptor behind");
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

}  // namespace

TEST_CASE("faults: every error of every call comes out as it is, or is gone over, 200 times each [N-091]") {
  const NoWish no_wish;
  int pairs = 0;
  for (const IoEngine engine : engines()) {
    std::string path = std::string(faults_folder) + "XXXXXX";
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

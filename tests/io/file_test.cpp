// SPDX-License-Identifier: MIT
#include "weft/file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/standard_input.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

struct Scratch {
  Scratch() {
    char name[] = "/tmp/weft-file-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  std::string path;
};

// Descriptor 0 is another one for a while.
class InputFrom {
 public:
  explicit InputFrom(int fd) : saved_(dup(STDIN_FILENO)) { REQUIRE(dup2(fd, STDIN_FILENO) == STDIN_FILENO); }
  ~InputFrom() {
    if (saved_ >= 0) {
      (void)dup2(saved_, STDIN_FILENO);
      (void)close(saved_);
    } else {
      (void)close(STDIN_FILENO);
    }
  }
  InputFrom(const InputFrom&) = delete;
  InputFrom& operator=(const InputFrom&) = delete;

 private:
  const int saved_;
};

}  // namespace

TEST_CASE("standard input: a pipe and a file are read to their end, and stay as blocking as they were [N-050]") {
  on_each_engine([] {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    char room[4];
    {
      const InputFrom input(ends[0]);
      CHECK(standard_input().read_result(room, std::chrono::steady_clock::now() + 2ms).os_error() == ETIMEDOUT);
      CHECK_THROWS_AS((void)standard_input().read_for(room, 1ms), std::system_error);
      std::string got;
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          while (const std::size_t n = standard_input().read(room)) got.append(room, n);
        });
        until_parked(reader);  // and holds no worker
        CHECK(::write(ends[1], "from a pipe", 11) == 11);
        CHECK(close(ends[1]) == 0);
        reader.join();
      });
      CHECK(got == "from a pipe");
      CHECK((fcntl(ends[0], F_GETFL) & O_NONBLOCK) == 0);
    }
    CHECK(close(ends[0]) == 0);
    const Scratch scratch;
    const std::string path = scratch.path + "/input";
    write_file(path, "from a file");
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    {
      const InputFrom input(file);
      std::string got;
      while (const std::size_t n = standard_input().read(room)) got.append(room, n);
      CHECK(got == "from a file");
      CHECK((fcntl(file, F_GETFL) & O_NONBLOCK) == 0);
    }
    CHECK(close(file) == 0);
    remove_file(path);
    remove_directory(scratch.path);
  });
}

TEST_CASE(
    "file: written, read, appended, synced, listed and removed, while the one worker runs others [N-050] [N-056]") {
  on_each_engine([] {
    const Scratch scratch;
    const std::string path = scratch.path + "/a";
    std::atomic<bool> stop{false};
    std::uint64_t turns = 0;
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        while (!stop) {
          ++turns;
          yield_now();
        }
      });
      write_file(path, "0123456789");
      {
        File file = File::open(path, {.read = true, .write = true});
        CHECK(file.size() == 10);
        char room[20];
        CHECK(file.read_at(room, 3) == 7);
        CHECK(std::string(room, 7) == "3456789");
        file.write_at("XY", 4);
        CHECK(file.read({room, 6}) == 6);
        CHECK(std::string(room, 6) == "0123XY");
        CHECK(file.read(room) == 4);
        CHECK(file.read(room) == 0);
        file.sync();
        file.sync(true);
        file.truncate(8);
        CHECK(file.size() == 8);
      }
      {
        File log = File::open(path, {.append = true});
        log.write("+tail");
      }
      CHECK(read_file(path) == "0123XY67+tail");
      make_directory(scratch.path + "/d");
      rename_file(path, scratch.path + "/b");
      const std::vector<DirectoryEntry> all = list_directory(scratch.path);
      REQUIRE(all.size() == 2);
      CHECK(all[0].name == "b");
      CHECK(all[0].kind == DirectoryEntry::Kind::file);
      CHECK(all[1].name == "d");
      CHECK(all[1].kind == DirectoryEntry::Kind::directory);
      remove_directory(scratch.path + "/d");
      remove_file(scratch.path + "/b");
      CHECK(list_directory(scratch.path).empty());
      remove_directory(scratch.path);
      stop = true;
    });
    CHECK(turns > 1);
  });
}

TEST_CASE("file: errors carry what the system said [N-050]") {
  on_each_engine([] {
    File file;
    CHECK(File::open_result(file, "/nowhere/at/all").os_error() == ENOENT);
    try {
      (void)File::open("/nowhere/at/all");
      FAIL("opened");
    } catch (const std::system_error& error) {
      CHECK(error.code().value() == ENOENT);
      CHECK(std::string(error.what()).find("/nowhere/at/all") != std::string::npos);
    }
    CHECK_THROWS_AS(list_directory("/dev/null"), std::system_error);
    CHECK(file.read_result(Room()).value() == 0);
    char byte = 0;
    CHECK(file.read_result({&byte, 1}).os_error() == EBADF);
    file = File::open("/dev/null");
    CHECK(file.write_result("x").os_error() == EBADF);  // opened to read
    CHECK(file.read_result({&byte, 1}).value() == 0);
  });
}

TEST_CASE("file: a large directory comes whole") {
  on_each_engine([] {
    const Scratch scratch;
    for (int i = 0; i < 600; ++i) write_file(scratch.path + "/" + std::string(40, 'n') + std::to_string(i), "");
    CHECK(list_directory(scratch.path).size() == 600);
    for (const DirectoryEntry& entry : list_directory(scratch.path)) remove_file(scratch.path + "/" + entry.name);
    remove_directory(scratch.path);
  });
}

TEST_CASE("file: on a plain thread") {
  const Scratch scratch;
  write_file(scratch.path + "/x", "abc");
  CHECK(read_file(scratch.path + "/x") == "abc");
  remove_file(scratch.path + "/x");
  remove_directory(scratch.path);
}

TEST_CASE("pipe: a reader sees the end, a writer without readers gets EPIPE and no signal") {
  on_each_engine([] {
    Pipe pipe = make_pipe();
    pipe.writer.write_all("abc");
    pipe.writer.close();
    char room[10];
    CHECK(pipe.reader.read(room) == 3);
    CHECK(pipe.reader.read(room) == 0);
    Pipe other = make_pipe();
    other.reader.close();
    CHECK(other.writer.write_result("x").os_error() == EPIPE);
  });
}

TEST_CASE("virtual time: it stands while a read of a pipe is under way, and goes on after it [HB13]") {
  for (const IoEngine engine : engines()) {
    for (const unsigned count : {1U, 2U}) {
      RuntimeOptions options = with_engine(engine, count);
      options.clock = RuntimeOptions::Clock::virtual_;
      Runtime(options).run([] {
        Pipe pipe = make_pipe();
        const int fd = pipe.writer.fd();
        std::thread outside([fd] {
          std::this_thread::sleep_for(20ms);
          (void)!::write(fd, "x", 1);
        });
        std::chrono::nanoseconds read_at{-1};
        std::chrono::nanoseconds slept_to{-1};
        with_nursery([&](Nursery& nursery) {
          nursery.start([&] {
            char byte = 0;
            CHECK(pipe.reader.read({&byte, 1}) == 1);
            read_at = now().time_since_epoch();
          });
          nursery.start([&] {
            sleep(1h);
            slept_to = now().time_since_epoch();
          });
        });
        outside.join();
        CHECK(read_at == 0ns);
        CHECK(slept_to == 1h);
      });
    }
  }
}

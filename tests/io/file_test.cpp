// SPDX-License-Identifier: MIT
#include "weft/file.hpp"

#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"

using namespace weft;
using namespace weft_test;

namespace {

struct Scratch {
  Scratch() {
    char name[] = "/tmp/weft-file-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  std::string path;
};

}  // namespace

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

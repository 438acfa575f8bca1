// SPDX-License-Identifier: MIT
#include "weft/ready_op.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "sched/park.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/select.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
namespace op = weft::op;

namespace {

std::string read_some(weft::Stream& stream) {
  char room[16];
  return {room, stream.read(room)};
}

}  // namespace

TEST_CASE("select: a descriptor is a case beside a channel, an event and a time; each side wins once [N-030]") {
  on_each_engine([] {
    weft::Pipe pipe = weft::make_pipe();
    weft::Channel<int> channel(1);
    weft::SyncEvent event;
    auto readable = op::readable(pipe.reader);
    // Nothing yet.
    CHECK(weft::select(readable, op::otherwise()).index() == 1);
    CHECK(weft::select(readable, op::timeout(100us)).index() == 1);
    channel.send(1);
    CHECK(weft::select(readable, op::recv(channel)).index() == 1);
    event.set();
    CHECK(weft::select(op::event(event), readable).index() == 0);
    // While it waits; the op goes on where it was.
    weft::with_nursery([&](weft::Nursery& n) {
      auto selecting = n.spawn([&] { return weft::select(op::recv(channel), readable).index(); });
      until_parked(selecting);
      pipe.writer.write_all("one");
      CHECK(selecting.join() == 1);
    });
    // At once.
    const auto again = weft::select(readable, op::otherwise());
    REQUIRE(again.index() == 0);
    CHECK((std::get<0>(again) & weft::io_readable) != 0);
    CHECK(read_some(pipe.reader) == "one");
    CHECK(weft::select(op::writable(pipe.writer), op::recv(channel)).index() == 0);
    // The end is something to read.
    pipe.writer.close();
    CHECK(weft::select(readable, op::recv(channel)).index() == 0);
    CHECK(read_some(pipe.reader).empty());
  });
}

TEST_CASE("select: a descriptor by its number, held in an Op, against a wrapped one [N-030]") {
  on_each_engine([] {
    weft::Pipe left = weft::make_pipe();
    weft::Pipe right = weft::make_pipe();
    right.writer.write_all("r");
    weft::Op<std::string> a(
        op::wrap(op::readable(left.reader.fd()), [&](std::uint32_t) { return read_some(left.reader); }));
    weft::Op<std::string> b(
        op::wrap(op::readable(right.reader), [&](std::uint32_t) { return read_some(right.reader); }));
    const auto got = weft::select(a, b);
    REQUIRE(got.index() == 1);
    CHECK(std::get<1>(got) == "r");
    left.writer.write_all("l");
    CHECK(std::get<0>(weft::select(a, b)) == "l");
  });
}

TEST_CASE(
    "select: who is asked to stop while it waits for a descriptor stops, and nothing stays behind [N-030] [N-022]") {
  on_each_engine([] {
    weft::Pipe pipe = weft::make_pipe();
    weft::with_nursery([&](weft::Nursery& n) {
      auto selecting = n.spawn([&] { (void)weft::select(op::readable(pipe.reader), op::timeout(1h)); });
      until_parked(selecting);
      selecting.cancel();
      CHECK_THROWS_AS(selecting.join(), weft::Cancelled);
    });
    pipe.writer.write_all("x");
    CHECK(read_some(pipe.reader) == "x");
  });
}

TEST_CASE("select: a descriptor that is closed under a select, and one that is none, are errors [N-030]") {
  on_each_engine([] {
    weft::Pipe pipe = weft::make_pipe();
    weft::with_nursery([&](weft::Nursery& n) {
      auto selecting = n.spawn([&] {
        try {
          (void)weft::select(op::readable(pipe.reader), op::timeout(1h));
        } catch (const std::system_error& error) {
          return error.code() == std::errc::bad_file_descriptor;
        }
        return false;
      });
      until_parked(selecting);
      pipe.reader.close();
      CHECK(selecting.join());
    });
    CHECK_THROWS_AS((void)weft::select(op::readable(-1), op::otherwise()), std::system_error);
  });
  CHECK_THROWS_AS((void)weft::select(op::readable(0), op::otherwise()), std::logic_error);
}

// SPDX-License-Identifier: MIT
// The simulated world: hosts, network, files, faults, and how the same program runs in the real one.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "doctest/doctest.h"
#include "weft/blocking.hpp"
#include "weft/blocking_io.hpp"
#include "weft/buffered.hpp"
#include "weft/file.hpp"
#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/resolve.hpp"
#include "weft/runtime.hpp"
#include "weft/sim.hpp"
#include "weft/tcp.hpp"
#include "weft/time.hpp"
#include "weft/udp.hpp"
#include "weft/unix_socket.hpp"

using namespace std::chrono_literals;
namespace sim = weft::sim;

namespace {

sim::ExploreOptions all_of(std::uint64_t seeds) {
  sim::ExploreOptions options;
  options.seeds = seeds;
  options.quiet = true;
  return options;
}

void echo_once(weft::TcpListener& listener) {
  weft::TcpStream client = listener.accept();
  char room[64];
  while (const std::size_t n = client.read(room)) client.write_all({room, n});
}

std::string ask(const weft::Address& where, const std::string& text) {
  weft::TcpStream server = weft::TcpStream::connect(where);
  server.write_all(text);
  server.shutdown_write();
  std::string answer;
  char room[7];
  while (const std::size_t n = server.read(room)) answer.append(room, n);
  return answer;
}

// For any world.
std::string talk() {
  std::string answer;
  weft::with_nursery([&](weft::Nursery& n) {
    weft::TcpListener listener = sim::on_host("server", [] { return weft::TcpListener::bind(weft::Address::any(0)); });
    const std::uint16_t port = listener.local().port();
    n.start([&] { sim::on_host("server", [&] { echo_once(listener); }); });
    answer =
        sim::on_host("client", [&] { return ask(sim::address("server", port), "a line that is cut somewhere\n"); });
    n.cancel();
  });
  return answer;
}

int error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

}  // namespace

TEST_CASE("sim network: a stream between hosts brings every byte in order, whatever is cut, late or lost [N-061]") {
  sim::ExploreOptions options = all_of(60);
  options.network.cut = 0.5;
  options.network.loss = 0.1;
  const sim::Exploration found = sim::explore(options, [] {
    sim::check(talk() == "a line that is cut somewhere\n", "what comes back is what was sent");
    sim::check(weft::now().time_since_epoch() > 0ns, "the way takes time");
  });
  CHECK_MESSAGE(found.ok(), found.text);
}

TEST_CASE("sim: the same program runs in the real runtime and in a simulation, files also without a runtime [N-060]") {
  const auto keep = [](const std::string& path) {
    {
      weft::File file = weft::File::open(path, {.read = true, .write = true, .create = true, .truncate = true});
      file.write("kept");
      file.sync();
    }
    std::string text = weft::read_file(path);
    weft::remove_file(path);
    return text;
  };
  const std::string path = (std::filesystem::temp_directory_path() / "weft_sim_test").string();
  CHECK(weft::run([] { return talk(); }) == "a line that is cut somewhere\n");
  CHECK(weft::run([&] { return keep(path); }) == "kept");
  weft::BlockingIo io;
  CHECK(weft::with_io(io, [&] { return keep(path); }) == "kept");
  const sim::Report report = sim::run(1, {}, [&] {
    sim::check(talk() == "a line that is cut somewhere\n", "the same answer");
    sim::check(keep("/tmp/weft_sim_test") == "kept", "the same file");
  });
  CHECK_MESSAGE(report.ok(), report.text);
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("sim: an HTTP server and its client run unchanged between two hosts, whatever is cut or late [N-060]") {
  sim::ExploreOptions options = all_of(40);
  options.network.cut = 0.3;
  options.network.loss = 0.05;
  const sim::Exploration found = sim::explore(options, [] {
    weft::with_nursery([&](weft::Nursery& n) {
      const auto answer = [](weft::HttpRequest&, weft::HttpResponse& response) { response.send("hello\n"); };
      const auto server = sim::on_host("server", [&] {
        return std::make_unique<weft::HttpServer>(weft::TcpListener::bind(weft::Address::any(80)),
                                                  weft::HttpServerOptions{}, answer);
      });
      auto running = n.spawn([&] { sim::on_host("server", [&] { server->run(); }); });
      sim::on_host("client", [] {
        weft::HttpClient client;
        for (int i = 0; i < 2; ++i) {
          const weft::HttpReply reply = client.get("http://server/");
          sim::check(reply.status == 200 && reply.body == "hello\n", "the answer");
        }
      });
      server->stop(1s);
      running.join();
    });
  });
  CHECK_MESSAGE(found.ok(), found.text);
}

TEST_CASE("sim network: a partition stops what goes between two hosts until it heals [N-061]") {
  const sim::Report report = sim::run(3, {}, [] {
    weft::with_nursery([&](weft::Nursery& n) {
      weft::TcpListener listener = sim::on_host("b", [] { return weft::TcpListener::bind(weft::Address::any(80)); });
      n.start([&] {
        weft::TcpStream client = listener.accept();
        char room[4];
        client.read_exactly(room);
        client.write_all("pong");
      });
      sim::on_host("a", [&] {
        weft::TcpStream server = weft::TcpStream::connect(sim::address("b", 80));
        sim::partition({"a"}, {"b"});
        server.write_all("ping");
        char room[4];
        sim::check(error_of([&] { (void)server.read_for(room, 1s); }) == ETIMEDOUT, "nothing comes through");
        sim::check(error_of([&] { (void)weft::TcpStream::connect_for(sim::address("b", 80), 1s); }) == ETIMEDOUT,
                   "nobody is there");
        sim::heal();
        server.read_exactly(room);
        sim::check(std::string(room, 4) == "pong", "what was held back comes");
      });
    });
  });
  CHECK_MESSAGE(report.ok(), report.text);
  CHECK(report.time > 2s);
}

TEST_CASE("sim network: a connection is reset as often as the options say, and both ends are told [N-061]") {
  sim::Options options;
  options.network.reset = 1;
  const auto talk = [] {
    weft::with_nursery([](weft::Nursery& n) {
      weft::TcpListener listener = sim::on_host("b", [] { return weft::TcpListener::bind(weft::Address::any(80)); });
      n.start([&] {
        weft::TcpStream client = listener.accept();
        char room[4];
        sim::check(error_of([&] { client.read_exactly(room); }) == ECONNRESET, "the other end is told");
      });
      sim::on_host("a", [&] {
        weft::TcpStream server = weft::TcpStream::connect(sim::address("b", 80));
        char room[4];
        const int sent = error_of([&] { server.write_all("ping"); });
        sim::check(sent == ECONNRESET || error_of([&] { server.read_exactly(room); }) == ECONNRESET,
                   "so is the sender");
      });
    });
  };
  const sim::Report report = sim::run(5, options, talk);
  CHECK_MESSAGE(report.ok(), report.text);
  options.network.reset = 0;
  CHECK(sim::run(5, options, talk).failure == sim::Failure::check);
}

TEST_CASE("sim network: a sender whose segments do not arrive gives up when the options say so [N-061]") {
  for (const auto patience : {2s, 20s}) {
    sim::Options options;
    options.network.gives_up = patience;
    const sim::Report report = sim::run(6, options, [&] {
      weft::TcpListener listener = sim::on_host("b", [] { return weft::TcpListener::bind(weft::Address::any(80)); });
      sim::on_host("a", [&] {
        weft::TcpStream server = weft::TcpStream::connect(sim::address("b", 80));
        sim::partition({"a"}, {"b"});
        const auto begun = weft::now();
        server.write_all("ping");
        char room[4];
        sim::check(error_of([&] { server.read_exactly(room); }) == ETIMEDOUT, "it is told");
        const auto waited = weft::now() - begun;
        sim::check(waited >= patience && waited < 2 * patience, "in time");
        sim::heal();
      });
    });
    CHECK_MESSAGE(report.ok(), report.text);
  }
}

TEST_CASE("sim network: what goes wrong has the error that Linux gives [N-061]") {
  const sim::Report report = sim::run(4, {}, [] {
    sim::check(error_of([] { (void)weft::TcpStream::connect(sim::address("b", 81)); }) == ECONNREFUSED, "refused");
    sim::check(weft::resolve("b", 81).front() == sim::address("b", 81), "hosts have names");
    sim::check(error_of([] { (void)weft::resolve("nobody", 1); }) == ENOENT, "and others do not");
    sim::check(error_of([] { (void)weft::TcpStream::connect(weft::Address::ip("192.0.2.1", 1)); }) == ENETUNREACH,
               "nobody there");
    weft::TcpListener one = weft::TcpListener::bind(weft::Address::any(80));
    sim::check(error_of([] { (void)weft::TcpListener::bind(weft::Address::any(80)); }) == EADDRINUSE, "in use");
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        sim::on_host("b", [&] {
          weft::TcpStream server = weft::TcpStream::connect(sim::address("main", 80));
          sim::check(server.peer() == sim::address("main", 80), "it knows its other side");
          char room[1];
          sim::check(error_of([&] { (void)server.read(room); }) == ECONNRESET, "reset");
        });
      });
      weft::TcpStream client = one.accept();
      sim::check(client.peer().to_string().starts_with("10.0.0.2:"), "and who comes");
      weft::sleep(1s);
      sim::reset_connections("main", "b");
      char room[1];
      sim::check(error_of([&] { (void)client.read(room); }) == ECONNRESET, "at both ends");
      sim::check(error_of([&] { client.write_all("x"); }) == EPIPE, "and for ever");
    });
    auto [left, right] = weft::UnixStream::make_pair();
    left.write_all("through a pair");
    left.close();
    char room[32];
    sim::check(right.read(room) == 14 && right.read(room) == 0, "all of it, then the end");
  });
  CHECK_MESSAGE(report.ok(), report.text);
}

TEST_CASE("sim network: datagrams get lost, come twice and out of order, and all of that is found [N-061]") {
  std::set<std::string> seen;
  sim::ExploreOptions options = all_of(100);
  options.network.loss = 0.2;
  options.network.duplicate = 0.2;
  const sim::Exploration found = sim::explore(options, [&] {
    weft::with_nursery([&](weft::Nursery& n) {
      weft::UdpSocket receiver = sim::on_host("b", [] { return weft::UdpSocket::bind(weft::Address::any(9)); });
      n.start([&] {
        sim::on_host("a", [&] {
          weft::UdpSocket sender = weft::UdpSocket::bind(weft::Address::any(0));
          for (const char* text : {"1", "2", "3"}) (void)sender.send_to(text, sim::address("b", 9));
        });
      });
      std::string order;
      char room[8];
      weft::timeout(1s, [&] {
        for (;;) {
          const weft::Datagram got = receiver.receive(room);
          order.append(room, got.size);
          sim::check(got.from.to_string().starts_with("10.0.0."), "it knows who sent it");
        }
      });
      seen.insert(order);
    });
  });
  CHECK_MESSAGE(found.ok(), found.text);
  CHECK(seen.contains("123"));
  CHECK(seen.contains("213"));
  CHECK(std::any_of(seen.begin(), seen.end(), [](const std::string& order) { return order.size() < 3; }));
  CHECK(std::any_of(seen.begin(), seen.end(), [](const std::string& order) { return order.size() > 3; }));
}

TEST_CASE("sim files: short reads and writes, errors, and a power failure that takes what nobody synced [N-061]") {
  std::set<int> errors;
  std::set<std::size_t> sizes;
  sim::ExploreOptions options = all_of(100);
  options.files.error = 0.05;
  options.files.full = 0.05;
  options.files.cut = 0.3;
  const sim::Exploration found = sim::explore(options, [&] {
    try {
      weft::File file = weft::File::open("/tmp/log", {.read = true, .write = true, .create = true});
      sizes.insert(file.write_result("0123456789").count());
      file.write_at("0123456789", 0);
      file.sync();
      file.write_at("abc", 10);
      sim::check(file.size() == 13, "it grows");
      sim::lose_unsynced("main");
      sim::check(weft::read_file("/tmp/log") == "0123456789", "what was synced is there, the rest is not");
    } catch (const std::system_error& error) {
      errors.insert(error.code().value());
    }
  });
  CHECK_MESSAGE(found.ok(), found.text);
  CHECK(errors == std::set<int>{EIO, ENOSPC});
  CHECK(sizes.size() > 3);
}

TEST_CASE("sim files: names, directories and lists are as on a disk, each host has its own [N-061]") {
  const sim::Report report = sim::run(5, {}, [] {
    weft::make_directory("/data");
    weft::write_file("/data/b", "two");
    weft::write_file("/data/a", "one");
    weft::make_directory("/data/c");
    const auto entries = weft::list_directory("/data");
    sim::check(
        entries.size() == 3 && entries[0].name == "a" && entries[2].kind == weft::DirectoryEntry::Kind::directory,
        "all of it, by name");
    weft::rename_file("/data/a", "/data/b");
    sim::check(weft::read_file("/data/b") == "one", "renamed over the other");
    sim::check(error_of([] { weft::remove_directory("/data"); }) == ENOTEMPTY, "not while something is in it");
    sim::check(error_of([] { (void)weft::read_file("/data/a"); }) == ENOENT, "it is gone");
    sim::check(error_of([] { weft::make_directory("/data"); }) == EEXIST, "it is there");
    sim::check(error_of([] { weft::write_file("/nowhere/x", "x"); }) == ENOENT, "no such directory");
    sim::on_host("other",
                 [] { sim::check(error_of([] { (void)weft::read_file("/data/b"); }) == ENOENT, "another disk"); });
  });
  CHECK_MESSAGE(report.ok(), report.text);
}

TEST_CASE("sim: what does not exist in a simulation says so; blocking(f) is one step [N-060]") {
  const sim::Report report = sim::run(6, {}, [] {
    sim::check(weft::blocking([] { return 42; }) == 42, "it runs right here");
    weft::IoRequest request;
    request.op = weft::IoOp::spawn;
    sim::check(weft::perform_io(request).os_error() == ENOSYS, "no child processes");
  });
  CHECK_MESSAGE(report.ok(), report.text);
}

TEST_CASE("sim: what a program says to the real stdout is answered the same way in each run, whatever becomes of it") {
  const int kept = ::dup(1);
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(::dup2(full, 1) == 1);
  long answer = 0;
  const sim::Report report = sim::run(6, {}, [&] {
    weft::IoRequest request;
    request.op = weft::IoOp::write;
    request.fd = 1;
    const std::string text = "hello";
    request.data = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is read
    request.size = text.size();
    answer = weft::perform_io(request).value();
  });
  ::dup2(kept, 1);
  ::close(kept);
  ::close(full);
  CHECK_MESSAGE(report.ok(), report.text);
  CHECK(answer == 5);
}

TEST_CASE("sim: an open descriptor, a task, a value that is left is a leak [N-024]") {
  const sim::Report socket = sim::run(7, {}, [] {
    static std::vector<weft::UdpSocket> kept;
    kept.push_back(weft::UdpSocket::bind(weft::Address::any(9)));
  });
  CHECK(socket.failure == sim::Failure::leak);
  CHECK(socket.text.find("a datagram socket of host main") != std::string::npos);
  const sim::Report task = sim::run(7, {}, [] { (void)weft::go([] { weft::sleep(1h); }); });
  CHECK(task.failure == sim::Failure::leak);
  CHECK(task.text.find("1 task is left") != std::string::npos);
  sim::Options options;
  options.tasks_may_stay = true;
  CHECK(sim::run(7, options, [] { (void)weft::go([] { weft::sleep(1h); }); }).ok());
}

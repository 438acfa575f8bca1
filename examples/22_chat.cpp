// SPDX-License-Identifier: MIT
// A chat room: what one says, all hear. Each connection is read by one task and written by another; the room is a
// Broadcast, whose senders never wait, so a member who does not read holds up nobody and learns what he has missed.
#include <chrono>
#include <cstdio>
#include <string>

#include "weft/broadcast.hpp"
#include "weft/buffered.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/tcp.hpp"

using namespace std::chrono_literals;

namespace {

using Room = weft::Broadcast<std::string>;

void serve(Room& room, weft::TcpStream stream) {
  weft::Buffered lines(std::move(stream));
  const std::string name = lines.read_until('\n').value_or("somebody");
  weft::with_nursery([&](weft::Nursery& n) {
    auto writer = n.spawn([&lines, heard = room.subscribe()]() mutable {
      while (const auto text = heard.recv()) lines.stream().write_all(**text + "\n");
    });
    room.send("* " + name + " is here");
    while (const auto line = lines.read_until('\n')) room.send(name + ": " + *line);
    writer.cancel();  // it waits for what the others say
  });
  room.send("* " + name + " has left");
}

// The other end of a connection: says and hears, line by line.
class Member {
 public:
  Member(const weft::Address& server, const std::string& name)
      : name_(name), lines_(weft::TcpStream::connect_for(server, 1s)) {
    say(name);
  }
  void say(const std::string& text) {
    lines_.write_all(text + "\n");
    lines_.flush();
  }
  void hear() { std::printf("%-5s hears  %s\n", name_.c_str(), lines_.read_until('\n').value_or("the end").c_str()); }
  void leave() { lines_.stream().close(); }

 private:
  std::string name_;
  weft::Buffered lines_;
};

}  // namespace

int main() {
  return weft::run([] {
    Room room(4);
    auto late = room.subscribe();  // somebody who does not listen for a while
    weft::TcpListener listener = weft::TcpListener::bind(weft::Address::loopback());
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (;;) {
          weft::TcpStream client;
          if (!listener.accept_result(client).ok()) return;  // closed
          n.start([&room, client = std::move(client)]() mutable { serve(room, std::move(client)); });
        }
      });
      Member ada(listener.local(), "Ada");
      ada.hear();
      Member bob(listener.local(), "Bob");
      for (Member* member : {&ada, &bob}) member->hear();
      ada.say("hello");
      for (Member* member : {&ada, &bob}) member->hear();
      bob.say("and goodbye");
      for (Member* member : {&ada, &bob}) member->hear();
      bob.leave();
      ada.hear();
      ada.leave();
      listener.close();
    });
    const auto text = late.recv();
    std::printf("the late one has missed %d and hears  %s\n", static_cast<int>(late.lag()), (*text)->c_str());
  });
}

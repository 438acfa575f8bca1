// SPDX-License-Identifier: MIT
// A server that sends back what it is told, line by line: one task per client, a limit on how long a client may be
// silent, and an orderly end.
#include <chrono>
#include <cstdio>
#include <string>

#include "weft/buffered.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/tcp.hpp"

using namespace std::chrono_literals;

namespace {

void serve(weft::TcpStream client) {
  weft::Buffered lines(std::move(client));
  try {
    for (;;) {
      lines.set_deadline(std::chrono::steady_clock::now() + 5s);
      const auto line = lines.read_until('\n');
      if (!line) return;  // it has said all
      lines.write_all("you said: " + *line + "\n");
      lines.flush();
    }
  } catch (const std::system_error& error) {
    std::printf("a client is gone: %s\n", error.code().message().c_str());
  }
}

void talk(const weft::Address& server, const std::string& name) {
  weft::TcpStream stream = weft::TcpStream::connect_for(server, 1s);
  weft::Buffered lines(std::move(stream));
  for (const char* word : {"hello", "goodbye"}) {
    lines.write_all(name + " says " + word + "\n");
    lines.flush();
    std::printf("%s\n", lines.read_until('\n').value().c_str());
  }
}

}  // namespace

int main() {
  return weft::run([] {
    weft::TcpListener listener = weft::TcpListener::bind(weft::Address::loopback());
    weft::with_nursery([&](weft::Nursery& nursery) {
      auto acceptor = nursery.spawn([&] {
        weft::with_nursery([&](weft::Nursery& clients) {
          for (;;) {
            weft::TcpStream client;
            if (!listener.accept_result(client).ok()) return;  // closed: those who are there are still served
            clients.start([client = std::move(client)]() mutable { serve(std::move(client)); });
          }
        });
      });
      for (const char* name : {"Ada", "Bob"}) talk(listener.local(), name);

      // Nobody listens there.
      weft::TcpStream nobody;
      const weft::IoResult refused = weft::TcpStream::connect_result(nobody, weft::Address::loopback(1));
      std::printf("port 1: %s\n", refused.error().message().c_str());

      // A limit on a wait.
      weft::TcpStream quiet = weft::TcpStream::connect(listener.local());
      char room[16];
      const weft::IoResult late = quiet.read_result(room, std::chrono::steady_clock::now() + 10ms);
      std::printf("nothing was asked: %s\n", late.error().message().c_str());
      quiet.close();

      listener.close();
      acceptor.join();
      std::printf("closed\n");
    });
    return 0;
  });
}

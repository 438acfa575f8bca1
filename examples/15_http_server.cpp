// SPDX-License-Identifier: MIT
// An HTTP server that ends in order: on SIGTERM it takes no more connections, and answers what is under way.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/nursery.hpp"
#include "weft/os_signals.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;

namespace {

unsigned number_in(std::string_view text) {
  unsigned number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void handle(weft::HttpRequest& request, weft::HttpResponse& response) {
  response.field("Content-Type", "text/plain");
  if (request.path() == "/") {
    response.send("Hello, world!\n");
  } else if (request.path() == "/echo") {  // as it comes
    char room[8192];
    while (const std::size_t count = request.read(room)) response.write({room, count});
  } else if (request.path() == "/length") {
    response.send(std::to_string(request.body().size()) + "\n");
  } else if (request.path() == "/slow") {  // "/slow?50": so many milliseconds
    weft::sleep(std::chrono::milliseconds(number_in(request.query())));
    response.send("slow\n");
  } else {
    response.status(404).send("nothing here\n");
  }
}

void ask_some(const weft::Address& where) {
  weft::HttpClient client;
  const std::string url = "http://" + where.to_string();
  const auto show = [](const weft::HttpReply& reply) {
    std::printf("%d %s: %s", reply.status, reply.reason.c_str(), reply.body.c_str());
  };
  show(client.get(url + "/"));
  show(client.get(url + "/nowhere"));
  show(client.post(url + "/echo", "text/plain", "what was said\n"));
  show(client.post(url + "/length", "text/plain", std::string(1'000'000, 'x')));
  show(client.post(url + "/length", "text/plain", std::string(2'000'000, 'x')));  // more than the server allows
  try {
    (void)client.request({.url = url + "/slow?500", .timeout = 20ms});
  } catch (const weft::HttpError& error) {
    std::printf("too slow: %s\n", weft::to_string(error.failure()));
  }
  // The signal comes while this one is under way.
  const weft::HttpReply last = client.get(url + "/last");
  show(last);
  std::printf("Connection: %s\n", std::string(last.field("Connection").value_or("")).c_str());
}

}  // namespace

// Without a port it asks itself some questions, and sends itself SIGTERM in the middle of the last one; with a port it
// serves there until SIGTERM comes.
int main(int argc, char** argv) {
  return weft::run([&] {
    const bool shows = argc < 2;
    weft::OsSignals signals({SIGTERM, SIGINT});
    weft::SyncEvent ending;
    weft::HttpServerOptions options;
    options.server.max_connections = 20'000;
    const auto port = static_cast<std::uint16_t>(shows ? 0 : number_in(argv[1]));
    weft::HttpServer server(weft::TcpListener::bind(weft::Address::loopback(port)), options,
                            [&](weft::HttpRequest& request, weft::HttpResponse& response) {
                              if (!shows || request.path() != "/last") return handle(request, response);
                              kill(getpid(), SIGTERM);
                              ending.wait();
                              response.send("answered after the signal\n");
                            });
    weft::with_nursery([&](weft::Nursery& nursery) {
      nursery.start([&] {
        (void)signals.next();
        server.stop(5s);
        ending.set();
      });
      if (shows) {
        nursery.start([&] { ask_some(server.local()); });
      } else {
        std::printf("listening on %s\n", server.local().to_string().c_str());
        (void)std::fflush(stdout);
      }
      server.run();
    });
    std::printf("ended in order\n");
    return 0;
  });
}

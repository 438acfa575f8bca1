// SPDX-License-Identifier: MIT
// A worker pool: jobs in a channel, three tasks that take them, and two connections that they share. A job that fails
// is told, and its worker takes the next one.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/pool.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;

namespace {

struct Connection {
  int number;
};

struct Outcome {
  int job;
  std::string text;
};

std::string work(int job, weft::Pool<Connection>& connections) {
  weft::sleep(1s);  // think
  if (job == 5) throw std::runtime_error("makes no sense");
  const auto connection = connections.take();  // waits if both are out; goes back by itself
  weft::sleep(1s);                             // ask
  return "done";
}

void example() {
  int made = 0;
  weft::Pool<Connection> connections(2, {.on_create = [&] { return Connection{++made}; }});
  weft::Channel<int> jobs;
  weft::Channel<Outcome> outcomes;
  int done = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int job = 1; job <= 9; ++job) jobs.send(job);
      jobs.close();
    });
    n.start([&] {
      weft::with_nursery([&](weft::Nursery& workers) {
        for (int i = 0; i < 3; ++i)
          workers.start([&] {
            for (const int job : jobs) {
              try {
                outcomes.send({job, work(job, connections)});
              } catch (const std::runtime_error& error) {  // not Cancelled, which is no runtime_error
                outcomes.send({job, error.what()});
              }
            }
          });
      });
      outcomes.close();
    });
    for (const Outcome& outcome : outcomes) {
      if (outcome.text == "done")
        ++done;
      else
        std::printf("job %d %s\n", outcome.job, outcome.text.c_str());
    }
  });
  std::printf("%d jobs done by 3 workers over %d connections in %d s\n", done, made,
              static_cast<int>(weft::now().time_since_epoch() / 1s));
}

}  // namespace

int main() {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  return weft::run(options, example);
}

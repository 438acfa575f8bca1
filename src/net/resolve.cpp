// SPDX-License-Identifier: MIT
// A lookup outlives its task if that is cancelled: what both share lies on the heap, and belongs to the last of them.
#include "weft/resolve.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "net/lookup.hpp"
#include "net/socket.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/runtime_core.hpp"
#include "weft/deadlock.hpp"
#include "weft/sync_event.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace detail {
namespace {

int ask_system(const std::string& host, std::uint16_t port, std::vector<Address>& into) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int answer = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  switch (answer) {
    case 0:
      break;
    case EAI_AGAIN:
      return EAGAIN;
    case EAI_MEMORY:
      return ENOMEM;
    default:
      return ENOENT;
  }
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (at->ai_addrlen > Address::room) continue;
    Address address;
    std::memcpy(address.data(), at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    into.push_back(address);
  }
  freeaddrinfo(found);
  return into.empty() ? ENOENT : 0;
}

}  // namespace

Lookup lookup = ask_system;

}  // namespace detail

namespace {

struct Question {
  std::string host;
  std::uint16_t port = 0;
  SyncEvent done;
  ExternalWait outside;  // no deadlock while it is out
  int error = 0;
  std::vector<Address> found;
};

struct Errand : BlockingPool::Job {
  std::shared_ptr<Question> question;
};

void ask(Question& question) {
  try {
    question.error = lookup(question.host, question.port, question.found);
  } catch (...) {
    question.error = ENOMEM;
  }
}

IoResult look_up(std::vector<Address>& into, const std::string& host, std::uint16_t port, Deadline deadline,
                 bool quiet) {
  auto question = std::make_shared<Question>();
  question->host = host;
  question->port = port;
  const WorkerCore* worker = this_worker();
  auto errand = std::make_unique<Errand>();
  errand->question = question;
  errand->run = [](BlockingPool::Job* job) {
    const std::unique_ptr<Errand> mine(static_cast<Errand*>(job));
    ask(*mine->question);
    mine->question->done.set();
  };
  if (worker == nullptr || !worker->runtime->blocking_pool().submit(*errand)) {
    ask(*question);
  } else {
    [[maybe_unused]] const Errand* posted = errand.release();
    if (quiet) {
      switch (question->done.wait_result(deadline)) {
        case WaitResult::done:
          break;
        case WaitResult::timed_out:
          return IoResult::failed(ETIMEDOUT);
        case WaitResult::cancelled:
          return IoResult::failed(ECANCELED);
      }
    } else if (!question->done.wait_until(deadline)) {
      return IoResult::failed(ETIMEDOUT);
    }
  }
  if (question->error != 0) return IoResult::failed(question->error);
  into = std::move(question->found);
  return IoResult(static_cast<long>(into.size()));
}

}  // namespace

std::vector<Address> resolve(const std::string& host, std::uint16_t port, Deadline deadline) {
  std::vector<Address> found;
  const IoResult result = look_up(found, host, port, deadline, false);
  if (!result.ok()) throw std::system_error(result.error(), "resolve " + host);
  return found;
}

std::vector<Address> resolve_for(const std::string& host, std::uint16_t port, std::chrono::nanoseconds span) {
  return resolve(host, port, deadline_for(span));
}

IoResult resolve_result(std::vector<Address>& into, const std::string& host, std::uint16_t port, Deadline deadline) {
  return look_up(into, host, port, deadline, true);
}

}  // namespace weft::inline v0

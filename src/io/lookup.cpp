// SPDX-License-Identifier: MIT
// A lookup outlives its task if that is cancelled: what both share lies on the heap, and belongs to the last of them.
#include "io/lookup.hpp"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "sched/blocking_pool.hpp"
#include "weft/deadlock.hpp"
#include "weft/sync_event.hpp"

namespace weft::inline v0::detail {
namespace {

int ask_system(const std::string& host, const std::string& service, std::vector<sockaddr_storage>& into) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int answer = getaddrinfo(host.c_str(), service.empty() ? nullptr : service.c_str(), &hints, &found);
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
    if (at->ai_addrlen > sizeof(sockaddr_storage)) continue;
    std::memcpy(&into.emplace_back(), at->ai_addr, at->ai_addrlen);
  }
  freeaddrinfo(found);
  return into.empty() ? ENOENT : 0;
}

struct Question : BlockingPool::Job {
  std::string host;
  std::string service;
  SyncEvent done;
  ExternalWait outside;  // no deadlock while it is out
  int error = 0;
  std::vector<sockaddr_storage> found;
  std::shared_ptr<Question> self;  // while the pool has it
};

void ask(Question& question) {
  try {
    question.error = lookup(question.host, question.service, question.found);
  } catch (...) {
    question.error = ENOMEM;
  }
}

// False: it cannot be sent.
bool send_off(RuntimeCore& runtime, const std::shared_ptr<Question>& question) {
  question->self = question;
  question->run = [](BlockingPool::Job* job) {
    const std::shared_ptr<Question> mine = std::move(static_cast<Question*>(job)->self);
    ask(*mine);
    mine->done.set();
  };
  if (runtime.blocking_pool().submit(*question)) return true;
  question->self.reset();
  return false;
}

// Who does not wait any more takes the question back, if nobody has begun with it.
struct Withdrawal {
  RuntimeCore& runtime;
  Question& question;
  ~Withdrawal() {
    if (!question.done.is_set() && runtime.blocking_pool().withdraw(question)) question.self.reset();
  }
};

IoResult await_answer(Question& question, const IoRequest& request) {
  if (!request.quiet) return IoResult(question.done.wait_until(request.deadline) ? 0 : -ETIMEDOUT);
  switch (question.done.wait_result(request.deadline)) {
    case WaitResult::done:
      break;
    case WaitResult::timed_out:
      return IoResult::failed(ETIMEDOUT);
    case WaitResult::cancelled:
      return IoResult::failed(ECANCELED);
  }
  return IoResult();
}

}  // namespace

Lookup lookup = ask_system;

IoResult resolve_by_system(RuntimeCore* runtime, const IoRequest& request) {
  if (request.path == nullptr) return IoResult::failed(EINVAL);
  auto question = std::make_shared<Question>();
  question->host = request.path;
  if (request.to != nullptr) question->service = request.to;
  if (runtime == nullptr || !send_off(*runtime, question)) {
    ask(*question);
  } else {
    const Withdrawal at_end{*runtime, *question};
    const IoResult answered = await_answer(*question, request);
    if (!answered.ok()) return answered;
  }
  if (question->error != 0) return IoResult::failed(question->error);
  const std::size_t count = std::min(question->found.size(), request.size / sizeof(sockaddr_storage));
  if (count > 0) std::memcpy(request.data, question->found.data(), count * sizeof(sockaddr_storage));
  return IoResult(static_cast<long>(count));
}

}  // namespace weft::inline v0::detail

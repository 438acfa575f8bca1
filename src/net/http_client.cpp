// SPDX-License-Identifier: MIT
// Relaxed: counters.
#include "weft/http_client.hpp"

#include <cerrno>
#include <mutex>

#include "net/http_link.hpp"
#include "net/http_text.hpp"
#include "net/socket.hpp"
#include "weft/detail/seam.hpp"
#include "weft/resolve.hpp"
#include "weft/time.hpp"

namespace weft::inline v0 {
namespace detail {

struct KeptLink {
  HttpOrigin origin;
  std::unique_ptr<HttpLink> link;
  Deadline until;
};

struct HttpClientCore {
  HttpClientOptions options;
  seam::Atomic<std::uint64_t> calls{0};
  seam::Atomic<std::uint64_t> connections{0};
  mutable seam::SpinLock lock;
  std::vector<KeptLink> kept;  // under the lock; oldest first

  // The youngest to there, or null. Those whose time is over come out, too, to be closed by the caller.
  std::unique_ptr<HttpLink> take(const HttpOrigin& origin, Deadline time, std::vector<KeptLink>& over);
  void keep(const HttpOrigin& origin, std::unique_ptr<HttpLink> link);
  std::unique_ptr<HttpLink> find(const HttpOrigin& origin);
  std::unique_ptr<HttpLink> connect(const HttpOrigin& origin, Deadline deadline);
  HttpReply exchange(const HttpCall& call, const HttpUrl& url, Deadline deadline);
};

namespace {

bool is_harmless(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" || method == "OPTIONS" ||
         method == "TRACE";
}

std::vector<Address> addresses_of(const HttpOrigin& to, Deadline deadline) {
  std::vector<Address> found;
  const IoResult result = resolve_result(found, to.host, to.port, deadline);
  if (result.ok()) return found;
  if (result.os_error() == ECANCELED) throw_wire_error(result, "looking up");
  const bool late = result.os_error() == ETIMEDOUT;
  throw HttpError(late ? HttpFailure::timed_out : HttpFailure::no_address, 0,
                  "no address of " + to.host + ": " + result.error().message(), result.os_error());
}

std::unique_ptr<Wire> connect_tcp(const HttpOrigin& to, Deadline deadline) {
  if (to.scheme != "http")
    throw HttpError(HttpFailure::bad_request, 0, to.scheme + " needs HttpClientOptions::connect");
  IoResult last = IoResult::failed(ENOENT);
  for (const Address& address : addresses_of(to, deadline)) {
    TcpStream stream;
    last = TcpStream::connect_result(stream, address, deadline);
    if (last.ok()) return std::make_unique<TcpWire>(std::move(stream));
    if (last.os_error() == ECANCELED) throw_wire_error(last, "connecting");
    if (last.os_error() == ETIMEDOUT && now() >= deadline) break;  // else the kernel's: the next may answer
  }
  const bool late = last.os_error() == ETIMEDOUT;
  throw HttpError(late ? HttpFailure::timed_out : HttpFailure::no_connection, 0,
                  "no connection to " + to.host + ": " + last.error().message(), last.os_error());
}

}  // namespace

std::unique_ptr<HttpLink> HttpClientCore::take(const HttpOrigin& origin, Deadline time, std::vector<KeptLink>& over) {
  std::unique_ptr<HttpLink> found;
  const std::lock_guard guard(lock);
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (found == nullptr && kept[i].until > time && kept[i].origin == origin) {
      found = std::move(kept[i].link);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (kept[i].until <= time) {
      over.push_back(std::move(kept[i]));
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return found;
}

std::unique_ptr<HttpLink> HttpClientCore::find(const HttpOrigin& origin) {
  for (;;) {
    std::vector<KeptLink> over;
    std::unique_ptr<HttpLink> link = take(origin, now(), over);
    if (link == nullptr || link->is_quiet()) return link;
  }
}

void HttpClientCore::keep(const HttpOrigin& origin, std::unique_ptr<HttpLink> link) {
  if (options.max_kept == 0) return;
  KeptLink fresh{origin, std::move(link), later(now(), options.keep_time)};
  KeptLink oldest;
  const std::lock_guard guard(lock);
  if (kept.size() >= options.max_kept) {
    oldest = std::move(kept.front());
    kept.erase(kept.begin());
  }
  kept.push_back(std::move(fresh));
}

std::unique_ptr<HttpLink> HttpClientCore::connect(const HttpOrigin& origin, Deadline deadline) {
  connections.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<Wire> wire = options.connect ? options.connect(origin, deadline) : connect_tcp(origin, deadline);
  if (wire == nullptr) throw HttpError(HttpFailure::no_connection, 0, "no connection to " + origin.host);
  return std::make_unique<HttpLink>(std::move(wire), options);
}

HttpReply HttpClientCore::exchange(const HttpCall& call, const HttpUrl& url, Deadline deadline) {
  const bool again = is_harmless(call.method) && !call.source;
  for (;;) {
    std::unique_ptr<HttpLink> link = find(url.origin);
    const bool old = link != nullptr;
    if (!old) link = connect(url.origin, deadline);
    try {
      HttpReply reply = link->exchange(call, url, deadline);
      // Not to this question: it had waited too long for one, and they have crossed.
      if (old && again && !call.sink && reply.status == 408 && !link->reusable()) continue;
      if (link->reusable()) keep(url.origin, std::move(link));
      return reply;
    } catch (const HttpError& error) {
      if (!old || !again || link->answered() || error.failure() != HttpFailure::closed) throw;
    }
  }
}

}  // namespace detail

using namespace detail;

std::optional<std::string_view> HttpReply::field(std::string_view name) const {
  for (const auto& [its_name, value] : fields)
    if (same_word(its_name, name)) return value;
  return std::nullopt;
}

HttpClient::HttpClient(HttpClientOptions options) : core_(std::make_unique<HttpClientCore>()) {
  core_->options = std::move(options);
}
HttpClient::~HttpClient() = default;

HttpReply HttpClient::request(const HttpCall& call) {
  core_->calls.fetch_add(1, std::memory_order_relaxed);
  const HttpUrl url = parse_http_url(call.url);
  const Deadline deadline = deadline_for(call.timeout.value_or(core_->options.timeout));
  try {
    return core_->exchange(call, url, deadline);
  } catch (const HttpError& error) {
    throw HttpError(error.failure(), 0, call.method + " " + call.url + ": " + error.what(), error.os_error());
  }
}

void HttpClient::forget() {
  std::vector<KeptLink> all;
  const std::lock_guard guard(core_->lock);
  all.swap(core_->kept);
}

HttpClientCounts HttpClient::counts() const {
  const std::lock_guard guard(core_->lock);
  return {core_->calls.load(std::memory_order_relaxed), core_->connections.load(std::memory_order_relaxed),
          core_->kept.size()};
}

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
#include "weft/resolve.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/socket.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

constexpr std::size_t most_answers = 64;
static_assert(sizeof(sockaddr_storage) <= Address::room);

IoResult look_up(std::vector<Address>& into, const std::string& host, std::uint16_t port, Deadline deadline,
                 bool quiet) {
  const std::string service = std::to_string(port);
  std::vector<sockaddr_storage> found(most_answers);
  IoRequest request;
  request.op = IoOp::resolve;
  request.path = host.c_str();
  request.to = service.c_str();
  request.data = found.data();
  request.size = found.size() * sizeof(sockaddr_storage);
  request.deadline = deadline;
  request.quiet = quiet;
  const IoResult result = perform_io(request);
  if (!result.ok()) return result;
  into.clear();
  for (const sockaddr_storage& one : std::span(found).first(std::min(result.count(), most_answers))) {
    if (one.ss_family != AF_INET && one.ss_family != AF_INET6) continue;
    Address& address = into.emplace_back();
    address.size = one.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(address.data(), &one, address.size);
  }
  return into.empty() ? IoResult::failed(ENOENT) : IoResult(static_cast<long>(into.size()));
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

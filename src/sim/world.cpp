// SPDX-License-Identifier: MIT
#include "sim/world.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/fd_table.hpp"

namespace weft::inline v0::detail {
namespace {

// Between a look and this wait nobody else runs: it is no point.
class ChangeWait : public GateWaitOf<TaskCore> {
 public:
  ChangeWait(GateCore& gate, const char* kind, const void* object)
      : GateWaitOf<TaskCore>(gate), info_{kind, object, nullptr} {}
  WaitInfo info() const { return info_; }

 private:
  WaitInfo info_;
};

}  // namespace

void Agenda::do_next() {
  const auto first = plans_.begin();
  const std::function<void()> what = std::move(first->second);
  plans_.erase(first);
  what();
}

int SimDescriptors::add(SimNodeRef node) {
  int fd = base;
  for (const auto& [used, ignored] : nodes_) {
    if (used != fd) break;
    ++fd;
  }
  nodes_.emplace(fd, std::move(node));
  return fd;
}

SimNodeRef SimDescriptors::find(const IoRequest& request) const {
  const auto found = nodes_.find(request.fd);
  if (found == nodes_.end()) return nullptr;
  if (request.issue != 0) {
    const FdEntry* entry = fd_entry(request.fd);
    if (entry == nullptr || entry->issue() != request.issue) return nullptr;
  }
  return found->second;
}

bool SimDescriptors::remove(int fd) {
  const auto found = nodes_.find(fd);
  if (found == nodes_.end()) return false;
  const SimNodeRef node = std::move(found->second);
  nodes_.erase(found);
  node->closed = true;
  node->close();
  node->changed.pulse();
  return true;
}

long wait_for_change(SimNode& node, const IoRequest& request) {
  ChangeWait wait(node.changed, to_string(request.op), &node);
  const WaitEnd end = wait_on(wait, deadline_at(request.deadline), request.quiet ? Raise::quietly : Raise::yes);
  if (node.closed) return -EBADF;
  if (end == WaitEnd::timed_out) return -ETIMEDOUT;
  return end == WaitEnd::cancelled ? -ECANCELED : 0;
}

void pass_time(std::int64_t until, const char* kind) {
  GateCore never(1);
  ChangeWait wait(never, kind, nullptr);
  (void)wait_on(wait, until, Raise::no);
}

std::string bytes_of(const IoRequest& request) {
  if (request.slices == nullptr) return {static_cast<const char*>(request.data), request.size};
  std::string bytes;
  for (std::size_t i = 0; i < request.count; ++i)
    bytes.append(static_cast<const char*>(request.slices[i].data), request.slices[i].size);
  return bytes;
}

std::size_t room_of(const IoRequest& request) {
  if (request.slices == nullptr) return request.size;
  std::size_t room = 0;
  for (std::size_t i = 0; i < request.count; ++i) room += request.slices[i].size;
  return room;
}

void put_bytes(const IoRequest& request, std::string_view bytes) {
  const auto put = [&](void* data, std::size_t size) {
    const std::size_t count = std::min(size, bytes.size());
    if (count != 0) std::memcpy(data, bytes.data(), count);
    bytes.remove_prefix(count);
  };
  if (request.slices == nullptr) return put(request.data, request.size);
  for (std::size_t i = 0; i < request.count; ++i) put(request.slices[i].data, request.slices[i].size);
}

}  // namespace weft::inline v0::detail

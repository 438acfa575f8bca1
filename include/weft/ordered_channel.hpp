// SPDX-License-Identifier: MIT
// What: OrderedChannel<T>: work that runs at the same time and whose results come out in the order it was given. It
// carries task handles; recv() takes the oldest and waits for it, however long it takes: later results wait behind it.
//
//   weft::OrderedChannel<Page> pages(4);                    // at most four ahead of the receiver
//   for (auto& url : urls) pages.spawn(n, [url] { return fetch(url); });
//   while (auto page = pages.recv()) print(*page);
//
// Threads: any. The tasks belong to their nursery, the handles to the channel, then to who receives them.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"

namespace weft::inline v0 {

template <class T>
class OrderedChannel {
 public:
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  explicit OrderedChannel(std::size_t capacity = 0) : handles_(capacity) {}

  // Spawns f and sends its handle; waits while the channel is full. If the handle cannot be sent (closed, or the caller
  // is asked to stop) the task is waited for, so nothing runs on unseen, and ChannelClosed or Cancelled is thrown.
  template <class F>
  void spawn(Nursery& nursery, F&& f, const std::source_location& site = std::source_location::current()) {
    send(nursery.spawn(std::forward<F>(f), site));
  }
  // The same with a task that exists.
  void send(Task<T> task) {
    try {
      handles_.send(std::move(task));
    } catch (...) {
      shield([&] { task.wait(); });
      throw;
    }
  }

  // The oldest one's result, once it has ended; throws what ended it. Nothing: closed and drained.
  std::optional<Value> recv() {
    std::optional<Task<T>> task = handles_.recv();
    if (!task) return std::nullopt;
    if constexpr (std::is_void_v<T>) {
      task->join();
      return std::monostate{};
    } else {
      return task->join();
    }
  }
  // Its handle, without waiting for its end.
  std::optional<Task<T>> recv_task() { return handles_.recv(); }

  bool close(std::string reason = {}) { return handles_.close(std::move(reason)); }
  // Gives back the handles that nobody has received.
  std::vector<Task<T>> close_recv(std::string reason = {}) { return handles_.close_recv(std::move(reason)); }
  std::size_t size() const { return handles_.size(); }

 private:
  Channel<Task<T>> handles_;
};

// One send, performed by a task of its own: what is carried is the value, not the task.
template <class T>
Task<void> send_in_task(Nursery& nursery, Channel<T>& channel, std::type_identity_t<T> value) {
  return nursery.spawn([&channel, value = std::move(value)]() mutable { channel.send(std::move(value)); });
}

}  // namespace weft::inline v0

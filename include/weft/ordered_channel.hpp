// SPDX-License-Identifier: MIT
// What: OrderedChannel<T>: work that runs at the same time and whose results come out in the order it was given. It
// carries task handles; recv() takes the oldest and waits for it, however long it takes: later results wait behind it.
//
//   weft::OrderedChannel<Page> pages(4);                    // at most four ahead of the receiver
//   for (auto& url : urls) pages.spawn(n, [url] { return fetch(url); });
//   while (auto page = pages.recv()) print(*page);
//
// Receivers take turns: while one of them waits for the oldest, the others wait for it. One that leaves without a
// result (Cancelled, its time) leaves the oldest to the next. Forms as in Channel; a spawn with a limit is a spawn of
// the nursery and send_until of its handle. Threads: any. The tasks belong to their nursery, the handles to the
// channel, then to who receives them.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/semaphore.hpp"

namespace weft::inline v0 {

template <class T>
class OrderedChannel {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
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

  // These leave a task that was not sent to the caller.
  [[nodiscard]] SendStatus try_send(Task<T>&& task) { return handles_.try_send(std::move(task)); }
  [[nodiscard]] SendStatus send_until(Task<T>&& task, TimePoint when) {
    return handles_.send_until(std::move(task), when);
  }
  [[nodiscard]] SendStatus send_for(Task<T>&& task, std::chrono::nanoseconds span) {
    return handles_.send_for(std::move(task), span);
  }
  [[nodiscard]] SendStatus send_result(Task<T>&& task, TimePoint when = TimePoint::max()) noexcept {
    return handles_.send_result(std::move(task), when);
  }

  // The oldest one's result, once it has ended; throws what ended it. Nothing: closed and drained.
  std::optional<Value> recv() {
    Got task = take(TimePoint::max(), detail::Raise::yes, true);
    return task ? std::optional<Value>(result_of(*task)) : std::nullopt;
  }
  // Nothing: none has come, or the oldest has not ended.
  std::optional<Value> try_recv() {
    if (!turn_.try_acquire()) return std::nullopt;
    const Turn turn{turn_};
    if (!front_) front_ = handles_.try_recv();
    if (!front_ || !front_->done()) return std::nullopt;
    Task<T> task = pop_front();
    return result_of(task);
  }
  std::expected<Value, RecvStatus> recv_until(TimePoint when) {
    Got task = take(when, detail::Raise::yes, true);
    if (!task) return std::unexpected(task.error());
    return result_of(*task);
  }
  std::expected<Value, RecvStatus> recv_for(std::chrono::nanoseconds span) { return recv_until(after(span)); }
  // Never throws: the task itself, which has ended. Its join or join_result tells how.
  std::expected<Task<T>, RecvStatus> recv_result(TimePoint when = TimePoint::max()) noexcept {
    return take(when, detail::Raise::quietly, true);
  }

  // Its handle, without waiting for its end.
  std::optional<Task<T>> recv_task() {
    Got task = take(TimePoint::max(), detail::Raise::yes, false);
    return task ? std::optional<Task<T>>(std::move(*task)) : std::nullopt;
  }
  std::optional<Task<T>> try_recv_task() {
    if (!turn_.try_acquire()) return std::nullopt;
    const Turn turn{turn_};
    return front_ ? std::exchange(front_, std::nullopt) : handles_.try_recv();
  }
  std::expected<Task<T>, RecvStatus> recv_task_until(TimePoint when) { return take(when, detail::Raise::yes, false); }
  std::expected<Task<T>, RecvStatus> recv_task_for(std::chrono::nanoseconds span) {
    return recv_task_until(after(span));
  }
  std::expected<Task<T>, RecvStatus> recv_task_result(TimePoint when = TimePoint::max()) noexcept {
    return take(when, detail::Raise::quietly, false);
  }

  bool close(std::string reason = {}) { return handles_.close(std::move(reason)); }
  // Gives back the handles that nobody has received. Not the one that a receiver waits for.
  std::vector<Task<T>> close_recv(std::string reason = {}) {
    if (!turn_.try_acquire()) return handles_.close_recv(std::move(reason));
    const Turn turn{turn_};
    if (!front_) return handles_.close_recv(std::move(reason));
    std::vector<Task<T>> all;
    all.reserve(handles_.capacity() + 1);
    std::vector<Task<T>> rest = handles_.close_recv(std::move(reason));
    all.push_back(pop_front());
    for (Task<T>& task : rest) all.push_back(std::move(task));
    return all;
  }
  // Without the one that a receiver waits for.
  std::size_t size() const { return handles_.size(); }

 private:
  using Got = std::expected<Task<T>, RecvStatus>;
  struct Turn {
    Semaphore& turn;
    ~Turn() { turn.release(); }
  };

  static TimePoint after(std::chrono::nanoseconds span) {
    return TimePoint(std::chrono::nanoseconds(detail::deadline_after(span)));
  }
  static Value result_of(Task<T>& task) {
    if constexpr (std::is_void_v<T>) {
      task.join();
      return {};
    } else {
      return task.join();
    }
  }
  static RecvStatus status_of(WaitResult end) {
    return end == WaitResult::timed_out ? RecvStatus::timed_out : RecvStatus::cancelled;
  }
  Task<T> pop_front() { return *std::exchange(front_, std::nullopt); }
  // The oldest comes to front_, is waited for there if it has to end, and is taken last, so whatever ends this early
  // has taken nothing [N-022].
  Got take(TimePoint when, detail::Raise raise, bool ended) {
    const bool loud = raise == detail::Raise::yes;
    const auto in_time = [](bool done) { return done ? WaitResult::done : WaitResult::timed_out; };
    WaitResult end = loud ? in_time(turn_.acquire_until(when)) : turn_.acquire_result(when);
    if (end != WaitResult::done) return std::unexpected(status_of(end));
    const Turn turn{turn_};
    if (!front_) {
      Got got = loud ? handles_.recv_until(when) : handles_.recv_result(when);
      if (!got) return got;
      front_.emplace(std::move(*got));
    }
    if (ended && loud && when == TimePoint::max()) {
      front_->wait();  // which may run it in place
    } else if (ended) {
      end = loud ? in_time(front_->wait_until(when)) : front_->wait_result(when);
      if (end != WaitResult::done) return std::unexpected(status_of(end));
    }
    return pop_front();
  }

  Channel<Task<T>> handles_;
  Semaphore turn_{1};             // of the receivers
  std::optional<Task<T>> front_;  // the oldest, once a receiver has waited for it; whose turn it is
};

// One send, performed by a task of its own: what is carried is the value, not the task.
template <class T>
Task<void> send_in_task(Nursery& nursery, Channel<T>& channel, std::type_identity_t<T> value) {
  return nursery.spawn([&channel, value = std::move(value)]() mutable { channel.send(std::move(value)); });
}

}  // namespace weft::inline v0

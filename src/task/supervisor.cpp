// SPDX-License-Identifier: MIT
// Relaxed: a counter.
#include "weft/supervisor.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "fiber/thrown.hpp"
#include "weft/io.hpp"
#include "weft/scope.hpp"
#include "weft/supervision.hpp"

namespace weft::inline v0 {

SupervisorGaveUp::SupervisorGaveUp(const std::string& child, unsigned restarts)
    : std::runtime_error("the supervisor gives up: child \"" + child + "\" would be started again, and " +
                         std::to_string(restarts) + " restarts are all that it may do in that time"),
      child_(child) {}

namespace detail {

using Time = std::chrono::steady_clock::time_point;

class SupervisorCore {
 public:
  explicit SupervisorCore(const SupervisorOptions& options) : options_(options) {
    if (options.within <= std::chrono::nanoseconds::zero() || options.backoff.first < std::chrono::nanoseconds::zero())
      throw std::invalid_argument("Supervisor: a window that is empty, or a pause that is negative");
  }

  void add(std::string name, std::function<void()> body, Restart restart) {
    if (running_) throw std::logic_error("Supervisor::add: it runs already");
    children_.push_back({std::move(name), std::move(body), restart, {}, never, {}, 0});
  }

  void run() {
    if (std::exchange(running_, true)) throw std::logic_error("Supervisor::run: it runs already");
    struct Over {
      SupervisorCore& core;
      ~Over() { core.running_ = false; }
    } over{*this};
    with_nursery([this](Nursery& nursery) {
      try {
        for (Child& child : children_) start(nursery, child);
        while (anything_left() && !asked_.load(std::memory_order_acquire)) one_event(nursery);
      } catch (...) {
        shield([this] { stop_from(0); });
        throw;
      }
      shield([this] { stop_from(0); });
    });
  }
  void stop() {
    asked_.store(true, std::memory_order_release);
    watch_.close();
  }
  std::uint64_t restarts() const { return restarts_.load(std::memory_order_relaxed); }

 private:
  static constexpr Time never = Time::max();

  struct Child {
    std::string name;
    std::function<void()> body;
    Restart restart;
    SupervisedTask task;  // empty: it does not run
    Time due = never;     // when it is to be started again
    Time began;
    unsigned failures = 0;  // one soon after the other
  };

  bool anything_left() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& c) { return c.task || c.due != never; });
  }
  void start(Nursery& nursery, Child& child) {
    child.due = never;
    child.began = current_io().now();
    SuperviseOptions options;
    options.task.name = child.name;
    child.task = supervise(nursery, watch_, std::ref(child.body), options);
  }
  // In reverse, those that run.
  void stop_from(std::size_t first) {
    for (std::size_t i = children_.size(); i-- > first;) {
      Child& child = children_[i];
      child.due = never;
      if (!child.task) continue;
      SupervisedTask task = std::exchange(child.task, {});  // its event means nothing from now on
      task.cancel();
      task.wait();
    }
  }

  void one_event(Nursery& nursery) {
    Time due = never;
    for (const Child& child : children_) due = std::min(due, child.due);
    if (std::optional<SupervisorEvent> event = watch_.recv_until(due)) {
      const auto child = std::find_if(children_.begin(), children_.end(),
                                      [&](const Child& c) { return c.task && c.task == event->task; });
      if (child != children_.end()) ended(static_cast<std::size_t>(child - children_.begin()), *event);
      return;
    }
    const Time now = current_io().now();
    for (Child& child : children_)
      if (child.due <= now) start(nursery, child);
  }

  void ended(std::size_t which, const SupervisorEvent& event) {
    Child& child = children_[which];
    child.task = {};
    if (child.restart == Restart::temporary || (child.restart == Restart::transient && event.ok())) return;
    const Time now = current_io().now();
    while (!times_.empty() && now - times_.front() >= options_.within) times_.pop_front();
    if (times_.size() >= options_.max_restarts) give_up(child, event);
    times_.push_back(now);
    restarts_.fetch_add(1, std::memory_order_relaxed);

    const Time due = now + pause(child, now);
    std::vector<std::size_t> again{which};
    const auto take = [&](std::size_t first) {
      for (std::size_t i = first; i < children_.size(); ++i)
        if (i != which && (children_[i].task || children_[i].due != never)) again.push_back(i);
      stop_from(first);
    };
    if (options_.strategy == Strategy::one_for_all) take(0);
    if (options_.strategy == Strategy::rest_for_one) take(which + 1);
    for (const std::size_t i : again)
      if (children_[i].restart != Restart::temporary) children_[i].due = due;
  }
  std::chrono::nanoseconds pause(Child& child, Time now) const {
    if (now - child.began >= options_.within) child.failures = 0;
    std::chrono::nanoseconds span = std::min(options_.backoff.first, options_.backoff.most);
    for (unsigned i = 0; i < child.failures && span < options_.backoff.most; ++i)
      span = std::min(span * options_.backoff.factor, options_.backoff.most);
    ++child.failures;
    return span;
  }
  [[noreturn]] void give_up(const Child& child, const SupervisorEvent& event) const {
    std::exception_ptr failure = std::make_exception_ptr(SupervisorGaveUp(child.name, options_.max_restarts));
    if (event.failure != nullptr) keep_beside(failure, {event.failure});
    std::rethrow_exception(std::move(failure));
  }

  const SupervisorOptions options_;
  std::deque<Child> children_;  // in place: bodies are referred to
  Supervision watch_;           // outlives the nursery
  std::deque<Time> times_;      // of the restarts within the window
  bool running_ = false;
  seam::Atomic<bool> asked_{false};
  seam::Atomic<std::uint64_t> restarts_{0};
};

}  // namespace detail

Supervisor::Supervisor(const SupervisorOptions& options) : core_(std::make_unique<detail::SupervisorCore>(options)) {}
Supervisor::~Supervisor() = default;
void Supervisor::add(std::string name, std::function<void()> body, Restart restart) {
  core_->add(std::move(name), std::move(body), restart);
}
void Supervisor::run() {
  core_->run();
}
void Supervisor::stop() {
  core_->stop();
}
std::uint64_t Supervisor::restarts() const {
  return core_->restarts();
}

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
#pragma once
// What: what a scenario writes: the threads of one execution, what is true at its end, the names of its objects.
// Threads: a scenario's set-up and `finally` run alone, before the first and after the last step of the threads. The
//   set-up is not watched at all; it must end by itself.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explorer/hook.hpp"

namespace weft::inline v0::verify {

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void thread(std::string name, std::move_only_function<void()> body) {
    threads_.push_back({std::move(name), std::move(body)});
  }
  // Runs after all threads have finished; several run in the order given.
  void finally(std::function<void()> check) { finals_.push_back(std::move(check)); }
  // Runs when the execution is over, however it went: for what lies outside of the world.
  void at_end(std::function<void()> undo) { undos_.push_back(std::move(undo)); }
  // Shown in traces as "name" or, for something inside it, "name+offset".
  template <class T>
  void name(const T& object, std::string label) {
    names_.push_back({reinterpret_cast<const char*>(&object), sizeof(T), std::move(label)});
  }
  // Lives until after `finally`.
  template <class T, class... Args>
  T& make(std::string label, Args&&... args) {
    auto object = std::make_shared<T>(std::forward<Args>(args)...);
    T& reference = *object;
    name(reference, std::move(label));
    owned_.push_back(std::move(object));
    return reference;
  }

 private:
  friend class Execution;
  struct Body {
    std::string name;
    std::move_only_function<void()> run;
  };
  struct Name {
    const char* begin;
    std::size_t size;
    std::string label;
  };
  std::vector<std::shared_ptr<void>> owned_;
  std::vector<Body> threads_;
  std::vector<std::function<void()>> finals_;
  std::vector<std::function<void()>> undos_;
  std::vector<Name> names_;
};

// A scenario's assertion; in a thread or in `finally`. The message goes into the report.
void check(bool condition, const char* message);
[[noreturn]] void fail(std::string message);

// A variable that is not atomic. Each access is checked against the happens-before order that the atomics establish, so
// a memory order that is too weak to publish it is found although the explorer's memory is sequentially consistent.
template <class T>
class Plain {
 public:
  Plain() : Plain(T{}) {}
  Plain(T value) : value_(std::move(value)) {
    if (!hook::exploring()) return;
    hook::created(this);
    hook::plain_access(this, true);  // made by one thread, read by another: that needs an order too
  }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  T read() const {
    if (hook::exploring()) hook::plain_access(this, false);
    return value_;
  }
  void write(T value) {
    if (hook::exploring()) hook::plain_access(this, true);
    value_ = std::move(value);
  }

 private:
  T value_{};
};

}  // namespace weft::inline v0::verify

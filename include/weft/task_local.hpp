// SPDX-License-Identifier: MIT
// What: a value per task. A child does not inherit it (Dyn does that); a plain thread has one of its own, too.
//
//   weft::TaskLocal<Buffer> buffer;
//   buffer->append(...);                             // made when it is first asked for
//
// Destroyed when the task ends, as a part of it, the youngest first. Not a thread_local: a task changes threads.
// Threads: each task sees its own; the TaskLocal object must outlive nothing but the calls.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace weft::inline v0 {

namespace detail {

struct TaskCore;

struct LocalNode {
  LocalNode* next = nullptr;
  const TaskCore* task = nullptr;
  std::uint64_t task_id = 0;
  std::uint64_t key = 0;
  void (*destroy)(LocalNode*) = nullptr;
};

std::uint64_t fresh_local_key();
// Of the running task. Null: it has none.
LocalNode* find_local(std::uint64_t key);
void add_local(LocalNode* node);
bool drop_local(std::uint64_t key);

}  // namespace detail

template <class T>
class TaskLocal {
 public:
  // Values are made by T().
  TaskLocal()
    requires std::default_initializable<T>
      : make_([] { return T(); }) {}
  // Values are made by make().
  template <class F>
    requires std::convertible_to<std::invoke_result_t<const F&>, T>
  explicit TaskLocal(F make) : make_(std::move(make)) {}
  TaskLocal(const TaskLocal&) = delete;
  TaskLocal& operator=(const TaskLocal&) = delete;

  T& get() {
    if (detail::LocalNode* node = detail::find_local(key_)) [[likely]]
      return static_cast<Node*>(node)->value;
    return add(make_());
  }
  T& operator*() { return get(); }
  T* operator->() { return &get(); }
  // Null: the running task has none yet.
  T* find() const {
    detail::LocalNode* node = detail::find_local(key_);
    return node != nullptr ? &static_cast<Node*>(node)->value : nullptr;
  }
  T& set(T value) {
    if (T* old = find()) return *old = std::move(value);
    return add(std::move(value));
  }
  // True: there was one.
  bool reset() { return detail::drop_local(key_); }

 private:
  struct Node : detail::LocalNode {
    explicit Node(T&& v) : value(std::move(v)) {}
    T value;
  };
  T& add(T&& value) {
    auto* node = new Node(std::move(value));
    node->key = key_;
    node->destroy = [](detail::LocalNode* self) { delete static_cast<Node*>(self); };
    detail::add_local(node);
    return node->value;
  }

  const std::uint64_t key_ = detail::fresh_local_key();
  std::function<T()> make_;
};

}  // namespace weft::inline v0

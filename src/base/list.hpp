// SPDX-License-Identifier: MIT
//
// What: a doubly linked list through hooks inside the elements. No allocation; push, pop and erase are O(1); an element
// leaves its list without knowing which list that is.
//   struct Waiter : ListHook<> { ... };   List<Waiter> waiters;
// An element that stands in several lists has one hook per list, told apart by a tag type.
// Invariants:
//   [LIST-1] A ring of hooks with the list's own as sentinel: next->prev is this, prev->next is this.
//   [LIST-2] A hook that stands in no list has null links; unlink() of it does nothing.
//   [LIST-3] Neither an element nor a list dies while linked (asserted): unlinking in a destructor would hide the race
//            with whoever holds the list's lock.
// Threads: one at a time, by the lock of whatever owns the list.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

template <class T, class Tag>
class List;

template <class Tag = void>
class ListHook {
 public:
  ListHook() = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { WEFT_ASSERT(!is_linked(), "a list element died while linked"); }

  bool is_linked() const { return next_ != nullptr; }

  void unlink() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    next_ = prev_ = nullptr;
  }

 private:
  template <class, class>
  friend class List;

  ListHook* next_ = nullptr;
  ListHook* prev_ = nullptr;
};

template <class T, class Tag = void>
class List {
  using Hook = ListHook<Tag>;

 public:
  template <class U>
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = std::remove_const_t<U>;
    using difference_type = std::ptrdiff_t;
    using pointer = U*;
    using reference = U&;

    Iterator() = default;
    reference operator*() const { return *static_cast<pointer>(at_); }
    pointer operator->() const { return static_cast<pointer>(at_); }
    Iterator& operator++() {
      at_ = List::after(at_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    Iterator& operator--() {
      at_ = List::before(at_);
      return *this;
    }
    Iterator operator--(int) {
      Iterator old = *this;
      --*this;
      return old;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    friend class List;
    using HookPointer = std::conditional_t<std::is_const_v<U>, const Hook*, Hook*>;
    explicit Iterator(HookPointer at) : at_(at) {}
    HookPointer at_ = nullptr;
  };
  using iterator = Iterator<T>;
  using const_iterator = Iterator<const T>;

  List() { end_.next_ = end_.prev_ = &end_; }
  List(List&& from) noexcept : List() { append(from); }
  List& operator=(List&&) = delete;
  ~List() {
    WEFT_ASSERT(empty(), "a list died with elements in it");
    end_.next_ = end_.prev_ = nullptr;
  }

  bool empty() const { return end_.next_ == &end_; }
  // Counts: a hook that unlinks itself could not keep a stored size right.
  std::size_t count() const { return static_cast<std::size_t>(std::distance(begin(), end())); }

  T* front() { return empty() ? nullptr : static_cast<T*>(end_.next_); }
  T* back() { return empty() ? nullptr : static_cast<T*>(end_.prev_); }

  void push_front(T& element) { link(element, end_.next_); }
  void push_back(T& element) { link(element, &end_); }
  void insert_before(T& place, T& element) { link(element, &static_cast<Hook&>(place)); }

  T* pop_front() { return take(front()); }
  T* pop_back() { return take(back()); }

  // The element must be in this list.
  iterator erase(T& element) {
    Hook& hook = element;
    Hook* next = hook.next_;
    WEFT_ASSERT(next != nullptr, "erase of an element that is in no list");
    hook.unlink();
    return iterator(next);
  }

  // All of other, in its order, behind what is here.
  void append(List& other) {
    if (other.empty() || &other == this) return;
    Hook* first = other.end_.next_;
    Hook* last = other.end_.prev_;
    other.end_.next_ = other.end_.prev_ = &other.end_;
    first->prev_ = end_.prev_;
    end_.prev_->next_ = first;
    last->next_ = &end_;
    end_.prev_ = last;
  }

  iterator begin() { return iterator(end_.next_); }
  iterator end() { return iterator(&end_); }
  const_iterator begin() const { return const_iterator(end_.next_); }
  const_iterator end() const { return const_iterator(&end_); }

 private:
  template <class HookPointer>
  static HookPointer after(HookPointer hook) {
    return hook->next_;
  }
  template <class HookPointer>
  static HookPointer before(HookPointer hook) {
    return hook->prev_;
  }

  void link(T& element, Hook* next) {
    Hook& hook = element;
    WEFT_ASSERT(!hook.is_linked(), "an element can be in one list at a time");
    hook.next_ = next;
    hook.prev_ = next->prev_;
    next->prev_->next_ = &hook;
    next->prev_ = &hook;
  }

  static T* take(T* element) {
    if (element != nullptr) static_cast<Hook&>(*element).unlink();
    return element;
  }

  Hook end_;
};

}  // namespace weft::inline v0::detail

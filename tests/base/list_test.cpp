// SPDX-License-Identifier: MIT
#include "base/list.hpp"

#include <string>
#include <vector>

#include "doctest/doctest.h"

using namespace weft::detail;

namespace {

struct ByAge {};
struct Node : ListHook<>, ListHook<ByAge> {
  explicit Node(int v) : value(v) {}
  int value;
  bool linked() const { return ListHook<>::is_linked(); }
  void leave() { ListHook<>::unlink(); }
};

std::vector<int> values(const List<Node>& list) {
  std::vector<int> result;
  for (const Node& node : list) result.push_back(node.value);
  return result;
}

void drain(List<Node>& list) {
  while (list.pop_front() != nullptr) {
  }
}

void throw_text(const char* text, const char*, const char*, int) {
  throw std::string(text);
}

}  // namespace

TEST_CASE("list: elements come out at both ends in the order they went in") {
  Node a(1), b(2), c(3), d(4);
  List<Node> list;
  CHECK(list.empty());
  CHECK(list.front() == nullptr);
  CHECK(list.pop_back() == nullptr);
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  list.insert_before(c, d);
  CHECK(values(list) == std::vector{1, 2, 4, 3});
  CHECK(list.count() == 4);
  CHECK(list.pop_back() == &c);
  CHECK(list.pop_front() == &a);
  CHECK(list.front() == &b);
  CHECK(list.back() == &d);
  drain(list);
  CHECK(list.empty());
}

TEST_CASE("list: an element unlinks itself without its list, twice without harm") {
  Node a(1), b(2), c(3);
  List<Node> list;
  for (Node* node : {&a, &b, &c}) list.push_back(*node);
  b.leave();
  CHECK_FALSE(b.linked());
  CHECK(a.linked());
  b.leave();
  CHECK(values(list) == std::vector{1, 3});
  a.leave();
  c.leave();
  CHECK(list.empty());
}

TEST_CASE("list: erase while walking goes on with the next element") {
  List<Node> list;
  Node a(1), b(2), c(3), d(4);
  for (Node* node : {&a, &b, &c, &d}) list.push_back(*node);
  for (auto it = list.begin(); it != list.end();) {
    if (it->value % 2 == 0) {
      it = list.erase(*it);
    } else {
      ++it;
    }
  }
  CHECK(values(list) == std::vector{1, 3});
  drain(list);
}

TEST_CASE("list: append and move take the whole list and leave an empty one") {
  Node a(1), b(2), c(3);
  List<Node> first;
  List<Node> second;
  first.push_back(a);
  second.push_back(b);
  second.push_back(c);
  first.append(second);
  CHECK(second.empty());
  CHECK(values(first) == std::vector{1, 2, 3});
  first.append(second);
  first.append(first);
  CHECK(values(first) == std::vector{1, 2, 3});
  List<Node> third(std::move(first));
  CHECK(first.empty());
  CHECK(values(third) == std::vector{1, 2, 3});
  b.leave();
  CHECK(values(third) == std::vector{1, 3});
  drain(third);
}

TEST_CASE("list: an element stands in two lists by two tags") {
  Node a(1), b(2);
  List<Node> list;
  List<Node, ByAge> ages;
  list.push_back(a);
  list.push_back(b);
  ages.push_front(a);
  ages.push_front(b);
  CHECK(ages.front() == &b);
  a.leave();
  CHECK(ages.count() == 2);
  CHECK(list.count() == 1);
  drain(list);
  while (ages.pop_front() != nullptr) {
  }
}

TEST_CASE("list: linking twice and erasing the unlinked are assertions that say so") {
  Node a(1);
  List<Node> list;
  List<Node> other;
  list.push_back(a);
  const AssertHook before = set_assert_hook(throw_text);
  CHECK_THROWS_WITH_AS(other.push_back(a), "an element can be in one list at a time", std::string);
  a.leave();
  CHECK_THROWS_WITH_AS(list.erase(a), "erase of an element that is in no list", std::string);
  set_assert_hook(before);
  CHECK(other.empty());
}

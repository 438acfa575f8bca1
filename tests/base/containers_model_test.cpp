// SPDX-License-Identifier: MIT
//
// Random sequences of operations, each compared step by step with a std::deque that does the same. RC_PARAMS="seed=..."
// repeats a failure.
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/global_queue.hpp"
#include "base/inbox.hpp"
#include "base/list.hpp"
#include "base/ring.hpp"
#include "base/trace_ring.hpp"
#include "doctest/doctest.h"
#include "stress.hpp"
#include "weft/detail/deque.hpp"

using namespace weft::detail;
using namespace weft_test;

namespace {

using Operations = std::vector<std::uint8_t>;
using Model = std::deque<std::uint64_t>;

constexpr std::size_t item_count = 256;

// Unused items to push, each once until it comes back.
class Supply {
 public:
  Supply() : items_(numbered(item_count)) {
    for (std::size_t i = 0; i < item_count; ++i) free_.push_back(i);
  }
  bool empty() const { return free_.empty(); }
  Item& next() {
    const std::size_t number = free_.front();
    free_.pop_front();
    return items_[number];
  }
  void give_back(std::uint64_t number) { free_.push_back(number); }

 private:
  std::vector<Item> items_;
  std::deque<std::size_t> free_;
};

std::optional<std::uint64_t> number_of(Entry entry) {
  if (!entry) return {};
  return take(entry);
}

std::optional<std::uint64_t> front_of(Model& model) {
  if (model.empty()) return {};
  const std::uint64_t number = model.front();
  model.pop_front();
  return number;
}

std::optional<std::uint64_t> back_of(Model& model) {
  if (model.empty()) return {};
  const std::uint64_t number = model.back();
  model.pop_back();
  return number;
}

void give_back(Supply& supply, std::optional<std::uint64_t> number) {
  if (number) supply.give_back(*number);
}

Operations some_operations() {
  return *rc::gen::scale(5.0, rc::gen::arbitrary<Operations>());  // up to 500
}

std::uint64_t some_start() {
  return *rc::gen::element<std::uint64_t>(0, ~std::uint64_t{0} - 7, (std::uint64_t{1} << 63) - 7,
                                          (std::uint64_t{1} << 32) - 7);
}

}  // namespace

TEST_CASE("deque: any sequence of owner and thief operations is that of a plain deque") {
  CHECK(rc::check("deque", [] {
    const Operations operations = some_operations();
    Supply supply;
    Deque deque(*rc::gen::inRange<std::size_t>(1, 9), some_start());
    Deque thief(2, some_start());
    Model model;
    Model thief_model;
    for (const std::uint8_t operation : operations) {
      switch (operation % 8) {
        case 0:
        case 1:
        case 2: {
          if (supply.empty()) break;
          Item& item = supply.next();
          RC_ASSERT(deque.push(Item::entry(item)));
          model.push_back(item.number);
          break;
        }
        case 3: {
          const auto number = number_of(deque.pop());
          RC_ASSERT(number == back_of(model));
          give_back(supply, number);
          break;
        }
        case 4: {
          const auto number = number_of(deque.take_oldest());
          RC_ASSERT(number == front_of(model));
          give_back(supply, number);
          break;
        }
        case 5: {
          const auto stolen = deque.steal();
          RC_ASSERT((stolen.outcome == Deque::Theft::taken) == !model.empty());
          const auto number = number_of(stolen.entry);
          RC_ASSERT(number == front_of(model));
          give_back(supply, number);
          break;
        }
        case 6: {
          const std::size_t wanted = std::min<std::size_t>(operation / 8, (model.size() + 1) / 2);
          const auto stolen = deque.steal_batch(thief, operation / 8);
          if (wanted == 0) {
            RC_ASSERT(stolen.outcome == Deque::Theft::empty);
            break;
          }
          RC_ASSERT(stolen.moved + 1 == wanted);
          const auto number = number_of(stolen.entry);
          RC_ASSERT(number == front_of(model));
          give_back(supply, number);
          for (std::size_t i = 1; i < wanted; ++i) thief_model.push_back(*front_of(model));
          break;
        }
        default: {
          const auto number = number_of(thief.pop());
          RC_ASSERT(number == back_of(thief_model));
          give_back(supply, number);
          break;
        }
      }
      RC_ASSERT(deque.size() == model.size());
      RC_ASSERT(thief.size() == thief_model.size());
      RC_ASSERT(deque.capacity() >= model.size());
    }
  }));
}

TEST_CASE("inbox: any sequence of pushes, pops and takings is that of a queue") {
  CHECK(rc::check("inbox", [] {
    const Operations operations = some_operations();
    Supply supply;
    Inbox inbox;
    Model model;
    std::size_t arrived = 0;  // since the owner or a rescuer last emptied the arrivals
    std::size_t sorted = 0;
    for (const std::uint8_t operation : operations) {
      switch (operation % 4) {
        case 0:
        case 1: {
          if (supply.empty()) break;
          Item& item = supply.next();
          RC_ASSERT(inbox.push(Item::entry(item)) == (arrived == 0));
          ++arrived;
          model.push_back(item.number);
          break;
        }
        case 2: {
          const auto number = number_of(inbox.pop());
          RC_ASSERT(number == front_of(model));
          give_back(supply, number);
          if (sorted == 0) sorted = std::exchange(arrived, 0);
          if (sorted > 0) --sorted;
          break;
        }
        default: {
          if (operation < 192) break;  // rarely
          Chain all = inbox.take_all();
          while (const auto number = number_of(all.pop_front())) {
            RC_ASSERT(number == front_of(model));
            supply.give_back(*number);
          }
          RC_ASSERT(model.empty());
          arrived = sorted = 0;
          break;
        }
      }
      RC_ASSERT(inbox.empty() == model.empty());
    }
  }));
}

namespace {

template <class Counter>
void ring_like_queue(const Operations& operations, Counter start) {
  Supply supply;
  BasicRing<Counter> ring(*rc::gen::inRange<std::size_t>(1, 33), start);
  Model model;
  for (const std::uint8_t operation : operations) {
    if (operation % 2 == 0 && !supply.empty()) {
      Item& item = supply.next();
      const bool pushed = ring.push(Item::entry(item));
      RC_ASSERT(pushed == (model.size() < ring.capacity()));
      if (pushed) {
        model.push_back(item.number);
      } else {
        supply.give_back(item.number);
      }
    } else {
      const auto number = number_of(ring.pop());
      RC_ASSERT(number == front_of(model));
      give_back(supply, number);
    }
    RC_ASSERT(ring.size() == model.size());
  }
}

}  // namespace

TEST_CASE("ring: any sequence of pushes and pops is that of a bounded queue, with counters of any width") {
  CHECK(rc::check("64 bits", [] { ring_like_queue(some_operations(), some_start()); }));
  CHECK(rc::check("32 bits", [] { ring_like_queue<std::uint32_t>(some_operations(), ~std::uint32_t{0} - 9); }));
  CHECK(rc::check("8 bits", [] { ring_like_queue(some_operations(), *rc::gen::arbitrary<std::uint8_t>()); }));
}

TEST_CASE("global queue: any sequence of pushes and pops by one thread is that of an unbounded queue [V-033]") {
  CHECK(rc::check("global queue", [] {
    const Operations operations = some_operations();
    Supply supply;
    GlobalQueue queue(*rc::gen::inRange<std::size_t>(1, 17));
    Model model;
    for (const std::uint8_t operation : operations) {
      if (operation % 5 < 3 && !supply.empty()) {
        Item& item = supply.next();
        queue.push(Item::entry(item));
        model.push_back(item.number);
      } else {
        const auto number = number_of(queue.pop());
        RC_ASSERT(number == front_of(model));
        give_back(supply, number);
      }
      RC_ASSERT(queue.size() == model.size());
      RC_ASSERT(queue.overflow_size() <= model.size());
    }
    while (const auto number = number_of(queue.pop())) RC_ASSERT(number == front_of(model));
    RC_ASSERT(model.empty());
    RC_ASSERT(queue.overflow_size() == 0u);
  }));
}

namespace {

struct Node : ListHook<> {
  std::uint64_t number = 0;
};

std::optional<std::uint64_t> number_of(const Node* node) {
  if (node == nullptr) return {};
  return node->number;
}

}  // namespace

TEST_CASE("list: any sequence of linking and unlinking is that of a plain deque") {
  CHECK(rc::check("list", [] {
    const Operations operations = some_operations();
    std::vector<Node> nodes(16);
    List<Node> list;
    List<Node> other;
    // Also when an assertion of the property leaves early: nothing may die linked.
    struct Unlink {
      std::vector<Node>& nodes;
      ~Unlink() {
        for (Node& node : nodes) node.unlink();
      }
    } unlink{nodes};
    Model model;
    Model other_model;
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].number = i;
    for (const std::uint8_t operation : operations) {
      Node& node = nodes[operation % 16];
      const bool linked = node.is_linked();
      switch (operation / 16 % 8) {
        case 0:
          if (linked) break;
          list.push_back(node);
          model.push_back(node.number);
          break;
        case 1:
          if (linked) break;
          list.push_front(node);
          model.push_front(node.number);
          break;
        case 2:
          if (linked) break;
          other.push_back(node);
          other_model.push_back(node.number);
          break;
        case 3:
          node.unlink();
          std::erase(model, node.number);
          std::erase(other_model, node.number);
          break;
        case 4:
          RC_ASSERT(number_of(list.pop_front()) == front_of(model));
          break;
        case 5:
          RC_ASSERT(number_of(list.pop_back()) == back_of(model));
          break;
        case 6:
          list.append(other);
          model.insert(model.end(), other_model.begin(), other_model.end());
          other_model.clear();
          break;
        default:
          if (linked || list.empty()) break;
          list.insert_before(*list.back(), node);
          model.insert(model.end() - 1, node.number);
          break;
      }
      Model forward;
      for (const Node& each : list) forward.push_back(each.number);
      RC_ASSERT(forward == model);
      Model backward;
      for (auto it = list.end(); it != list.begin();) backward.push_front((--it)->number);
      RC_ASSERT(backward == model);
      RC_ASSERT(other.count() == other_model.size());
      for (const Node& each : nodes) {
        const bool in_model = std::ranges::count(model, each.number) + std::ranges::count(other_model, each.number) > 0;
        RC_ASSERT(each.is_linked() == in_model);
      }
    }
  }));
}

TEST_CASE("trace ring: a snapshot is the end of everything recorded while it was on") {
  CHECK(rc::check("trace ring", [] {
    const Operations operations = some_operations();
    TraceRing ring(*rc::gen::inRange<std::size_t>(1, 20), some_start());
    Model model;
    bool on = false;
    for (const std::uint8_t operation : operations) {
      if (operation % 16 == 0) {
        on = !on;
        ring.switch_on(on);
        continue;
      }
      ring.record_at(-1, operation, model.size(), operation);
      if (on) model.push_back(operation);
    }
    std::vector<TraceRecord> out(*rc::gen::inRange<std::size_t>(0, 40));
    const auto copied = ring.snapshot(out);
    RC_ASSERT(copied.skipped == 0u);
    RC_ASSERT(copied.records == std::min({model.size(), ring.capacity(), out.size()}));
    RC_ASSERT(copied.records + copied.dropped == model.size());
    for (std::size_t i = 0; i < copied.records; ++i) {
      const std::size_t place = model.size() - copied.records + i;
      RC_ASSERT(out[i].kind == model[place]);
      RC_ASSERT(out[i].a == place);
    }
  }));
}

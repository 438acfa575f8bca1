// SPDX-License-Identifier: MIT
#pragma once
// What: things to put into queues. Each is written before it is pushed and read by whoever takes it, so a queue that
//   loses, doubles or publishes too weakly is found out. Kit names the classes under test: the real ones, or a
//   mutant's.

#include <cstddef>
#include <string>
#include <vector>

#include "explorer/world.hpp"

namespace weft::inline v0::verify {

template <class Kit>
class Items {
 public:
  using Entry = typename Kit::Entry;

  Items(World& world, int count) {
    for (int i = 1; i <= count; ++i) items_.push_back(&world.make<Item>("item " + std::to_string(i)));
  }

  // The caller writes the item and pushes the entry.
  Entry fill(int number) {
    Item& item = *items_[static_cast<std::size_t>(number - 1)];
    item.data.write(number);
    return Entry(&item);
  }
  // The caller has taken this entry. Returns its number; an item may be pushed and taken again.
  int take(Entry entry) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Item& item = *items_[i];
      if (!(entry == Entry(&item))) continue;
      const int number = static_cast<int>(i) + 1;
      check(item.data.read() == number, "an item was taken before it was written");
      check(++item.taken == 1, "an item was taken twice");
      return number;
    }
    fail("something was taken that nobody pushed");
  }
  void take_if(Entry entry) {
    if (entry) take(entry);
  }
  void all_taken() {
    for (const Item* item : items_) check(item->taken == 1, "an item was lost");
  }
  int taken() const {
    int sum = 0;
    for (const Item* item : items_) sum += item->taken;
    return sum;
  }

 private:
  struct Item : Kit::QueueLink {
    Plain<int> data;
    int taken = 0;  // the explorer's bookkeeping, not part of what is explored
  };
  std::vector<Item*> items_;
};

}  // namespace weft::inline v0::verify

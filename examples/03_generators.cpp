// SPDX-License-Identifier: MIT
// A generator is a fiber that yields. It is a range, so pipelines are the standard library's.
#include <iostream>
#include <memory>
#include <ranges>
#include <string>

#include "weft/weft.hpp"

namespace {

struct Tree {
  int value;
  std::unique_ptr<Tree> left, right;
};

std::unique_ptr<Tree> tree(int low, int high) {
  if (low > high) return nullptr;
  const int middle = (low + high) / 2;
  return std::make_unique<Tree>(middle, tree(low, middle - 1), tree(middle + 1, high));
}

// Plain recursion; the yield may stand as deep as it likes.
void visit(const Tree* node) {
  if (node == nullptr) return;
  visit(node->left.get());
  weft::yield(node->value);
  visit(node->right.get());
}

}  // namespace

int main() {
  const auto root = tree(1, 15);
  weft::Generator<int> in_order([&] { visit(root.get()); });
  for (int x : std::move(in_order) | std::views::filter([](int v) { return v % 3 == 0; })) std::cout << x << " ";
  std::cout << "\n";

  // `++` is lazy, so take(3) runs the body up to its third yield and no further.
  int produced = 0;
  weft::Generator<int> naturals([&] {
    for (int i = 0;; ++i) {
      ++produced;
      weft::yield(i);
    }
  });
  for (int x : std::move(naturals) | std::views::take(3)) std::cout << x << " ";
  std::cout << "(produced " << produced << ")\n";

  for (const std::string& line :
       weft::generate(std::views::iota(1, 4), [](int i) { return std::string(static_cast<std::size_t>(i), '*'); }))
    std::cout << line << "\n";

  // An error of the body leaves the loop as itself.
  weft::Generator<int> broken([] {
    weft::yield(1);
    throw std::runtime_error("the well is dry");
  });
  try {
    for (int x : broken) std::cout << "got " << x << "\n";
  } catch (const std::runtime_error& error) {
    std::cout << "error: " << error.what() << "\n";
  }
}

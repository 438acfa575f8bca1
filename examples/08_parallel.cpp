// SPDX-License-Identifier: MIT
// Fork and join: par runs its arguments at the same time where there are hands for it, and costs a call where not.
#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "weft/weft.hpp"

namespace {

std::uint64_t fib(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto [a, b] = weft::par([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

}  // namespace

int main() {
  return weft::run([] {
    std::cout << "fib(25) = " << fib(25) << "\n";

    std::vector<int> numbers(100'000);
    std::iota(numbers.rbegin(), numbers.rend(), 1);
    weft::sort(numbers);
    std::cout << "sorted: " << numbers.front() << " to " << numbers.back() << "\n";

    weft::parallel_for(numbers, [](int& n) { n *= 2; });
    std::cout << "sum of the doubles: " << weft::reduce(numbers, std::int64_t{0}) << "\n";
  });
}

// SPDX-License-Identifier: MIT
// What: fork-join. par(f, g, ...) runs its arguments at the same time where there are hands for it and gives their
// results as a tuple (void as std::monostate); parallel_for, reduce, sort and map_limited are built on it.
//
//   auto [a, b] = weft::par([&] { return fib(n - 1); }, [&] { return fib(n - 2); });
//
// A nursery in meaning: the first failure asks the others to stop, all have ended when it returns. The last argument is
// called directly; the others are offered in the worker's deque, and what nobody took meanwhile is called, too: no
// record, no allocation, no atomic instruction then. Outside of a runtime everything is called in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/par_frame.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

template <class F>
auto par(F&& f) {
  return std::tuple<detail::CallResult<std::remove_reference_t<F>>>(detail::call_for_value(f));
}

template <class F, class G>
[[gnu::always_inline]] inline auto par(F&& f, G&& g) {
  auto both = detail::fork_join(f, g);
  return std::tuple(std::move(both.first), std::move(both.second));
}

template <class F, class G, class... More>
auto par(F&& f, G&& g, More&&... more) {
  auto rest = [&] { return par(g, more...); };
  auto both = detail::fork_join(f, rest);
  return std::tuple_cat(std::tuple(std::move(both.first)), std::move(both.second));
}

namespace detail {

// A few pieces per worker, so that late thieves find something.
std::size_t automatic_grain(std::size_t size);

template <class I, class F>
void for_range(I first, std::size_t size, std::size_t grain, F& f) {
  while (size > grain) {
    const std::size_t half = size / 2;
    auto right = [&] { for_range(first + static_cast<std::iter_difference_t<I>>(half), size - half, grain, f); };
    auto left = [&] { for_range(first, half, grain, f); };
    fork_join(right, left);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) f(first[static_cast<std::iter_difference_t<I>>(i)]);
}

template <class I, class T, class Map, class Join>
T reduce_range(I first, std::size_t size, std::size_t grain, const T& identity, Map& map, Join& join) {
  if (size > grain) {
    const std::size_t half = size / 2;
    auto right = [&] {
      return reduce_range(first + static_cast<std::iter_difference_t<I>>(half), size - half, grain, identity, map,
                          join);
    };
    auto left = [&] { return reduce_range(first, half, grain, identity, map, join); };
    auto both = fork_join(right, left);
    return join(std::move(both.second), std::move(both.first));
  }
  T sum = identity;
  for (std::size_t i = 0; i < size; ++i)
    sum = join(std::move(sum), map(first[static_cast<std::iter_difference_t<I>>(i)]));
  return sum;
}

template <class I, class Less>
void sort_range(I first, I last, std::size_t grain, Less& less) {
  while (static_cast<std::size_t>(last - first) > grain) {
    // The median of three as pivot; what equals it stands in the middle and is done.
    I middle = first + (last - first) / 2;
    const I back = last - 1;
    if (less(*middle, *first)) std::iter_swap(middle, first);
    if (less(*back, *middle)) {
      std::iter_swap(back, middle);
      if (less(*middle, *first)) std::iter_swap(middle, first);
    }
    const auto pivot = *middle;
    const I lower = std::partition(first, last, [&](const auto& x) { return less(x, pivot); });
    const I upper = std::partition(lower, last, [&](const auto& x) { return !less(pivot, x); });
    // A lopsided cut: the rest by the library's own sort, which is never quadratic.
    const auto small = std::min(lower - first, last - upper);
    if (static_cast<std::size_t>(small) < static_cast<std::size_t>(last - first) / 64 && upper - lower <= small) break;
    auto right = [&] { sort_range(upper, last, grain, less); };
    auto left = [&] { sort_range(first, lower, grain, less); };
    fork_join(right, left);
    return;
  }
  std::sort(first, last, less);
}

}  // namespace detail

// f(element) for each element of a random-access range, in any order, at the same time. grain: so many elements are
// done in one go; 0 chooses.
template <std::ranges::random_access_range R, class F>
void parallel_for(R&& range, F f, std::size_t grain = 0) {
  const auto size = static_cast<std::size_t>(std::ranges::size(range));
  detail::for_range(std::ranges::begin(range), size, grain != 0 ? grain : detail::automatic_grain(size), f);
}

// join(... join(identity, map(first)) ..., map(last)), cut into pieces that are joined from left to right: join must be
// associative, need not be commutative.
template <std::ranges::random_access_range R, class T, class Join = std::plus<>, class Map = std::identity>
T reduce(R&& range, T identity, Join join = {}, Map map = {}, std::size_t grain = 0) {
  const auto size = static_cast<std::size_t>(std::ranges::size(range));
  return detail::reduce_range(std::ranges::begin(range), size, grain != 0 ? grain : detail::automatic_grain(size),
                              identity, map, join);
}

// Not stable, like std::sort.
template <std::ranges::random_access_range R, class Less = std::less<>>
void sort(R&& range, Less less = {}, std::size_t grain = 0) {
  detail::sort_range(std::ranges::begin(range), std::ranges::begin(range) + std::ranges::ssize(range),
                     std::max<std::size_t>(grain != 0 ? grain : 2048, 16), less);
}

// f(element) for each element, at most `limit` at a time, each as part of a task that may wait. Results in the order of
// the range.
template <std::ranges::random_access_range R, class F>
auto map_limited(R&& range, std::size_t limit, F f) {
  using Value = std::decay_t<std::invoke_result_t<F&, std::ranges::range_reference_t<R>>>;
  if (limit == 0) throw std::invalid_argument("map_limited: a limit of 0 would never begin");
  const auto size = static_cast<std::size_t>(std::ranges::size(range));
  std::vector<std::optional<Value>> results(size);
  seam::Atomic<std::size_t> next{0};
  with_nursery([&](Nursery& nursery) {
    for (std::size_t lane = 0; lane < std::min(limit, size); ++lane)
      nursery.start([&] {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < size;)
          results[i].emplace(f(std::ranges::begin(range)[static_cast<std::ranges::range_difference_t<R>>(i)]));
      });
  });
  std::vector<Value> values;
  values.reserve(size);
  for (auto& result : results) {
    if (!result) [[unlikely]] {  // asked to stop from outside, which is no failure of a child
      yield_now();
      throw Cancelled(nullptr, cancel_reason());  // where nothing is raised because the stack unwinds
    }
    values.push_back(std::move(*result));
  }
  return values;
}

}  // namespace weft::inline v0

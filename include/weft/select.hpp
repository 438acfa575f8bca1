// SPDX-License-Identifier: MIT
// What: select: waits until one of several things happens, and does exactly that one.
//
//   auto got = weft::select(op::recv(jobs), op::send(out, 7), op::timeout(10ms));
//   switch (got.index()) {
//     case 0: use(std::get<0>(got)); break;       // std::optional<Job>
//     case 1: ...                                 // SendStatus: sent, or closed
//   }
//
// If several are ready one of them is taken at random. The others have not happened: a send that lost keeps its value
// (op::Send::value(), or the variable of op::send_from). The list as written needs no memory from the heap; a
// std::vector<Op<T>> serves where it is made at run time.
// Threads: any, tasks and plain threads alike.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "weft/op.hpp"

namespace weft::inline v0 {

namespace detail {

template <class V, std::size_t position, class O, class... Rest>
V select_result(std::size_t which, O& op, Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return V(std::in_place_index<position>, op.result(which));
  } else {
    if (which < op.size()) return V(std::in_place_index<position>, op.result(which));
    return select_result<V, position + 1>(which - op.size(), rest...);
  }
}

template <class... Os>
void collect_cases(SelectCase** into, Os&... ops) {
  ((ops.collect(into), into += ops.size()), ...);
}

template <class... Os>
SelectEnd select_over(std::int64_t deadline, Raise raise, Os&... ops) {
  if constexpr (((Os::cases != 0) && ...)) {
    std::array<SelectCase*, (Os::cases + ...)> cases;
    std::array<seam::SpinLock*, (Os::cases + ...)> locks;
    collect_cases(cases.data(), ops...);
    return run_select({cases.data(), locks.data(), cases.size(), deadline, raise});
  } else {
    const std::size_t count = (ops.size() + ...);
    std::vector<SelectCase*> cases(count);
    std::vector<seam::SpinLock*> locks(count);
    collect_cases(cases.data(), ops...);
    return run_select({cases.data(), locks.data(), count, deadline, raise});
  }
}

template <class... Os>
using Selection = std::variant<typename std::remove_cvref_t<Os>::Result...>;

}  // namespace detail

// What the winner gives, at its position. Throws Cancelled, and what the winner's own result throws.
template <class... Os>
  requires(sizeof...(Os) > 0 && (op::SelectOp<std::remove_cvref_t<Os>> && ...))
detail::Selection<Os...> select(Os&&... ops) {
  const detail::SelectEnd end = detail::select_over(seam::no_deadline, detail::Raise::yes, ops...);
  return detail::select_result<detail::Selection<Os...>, 0>(end.which, ops...);
}
// Nothing: its time was up.
template <class... Os>
  requires(sizeof...(Os) > 0 && (op::SelectOp<std::remove_cvref_t<Os>> && ...))
std::optional<detail::Selection<Os...>> select_until(std::chrono::steady_clock::time_point when, Os&&... ops) {
  const detail::SelectEnd end = detail::select_over(detail::deadline_at(when), detail::Raise::yes, ops...);
  if (end.end != detail::WaitEnd::done) return std::nullopt;
  return detail::select_result<detail::Selection<Os...>, 0>(end.which, ops...);
}
template <class... Os>
  requires(sizeof...(Os) > 0 && (op::SelectOp<std::remove_cvref_t<Os>> && ...))
std::optional<detail::Selection<Os...>> select_for(std::chrono::nanoseconds span, Os&&... ops) {
  const detail::SelectEnd end = detail::select_over(detail::deadline_after(span), detail::Raise::yes, ops...);
  if (end.end != detail::WaitEnd::done) return std::nullopt;
  return detail::select_result<detail::Selection<Os...>, 0>(end.which, ops...);
}
// The wait itself never throws: timed_out or cancelled come as values.
template <class... Os>
  requires(sizeof...(Os) > 0 && (op::SelectOp<std::remove_cvref_t<Os>> && ...))
std::expected<detail::Selection<Os...>, WaitResult> select_result(std::chrono::steady_clock::time_point when,
                                                                  Os&&... ops) {
  const detail::SelectEnd end = detail::select_over(detail::deadline_at(when), detail::Raise::quietly, ops...);
  if (end.end != detail::WaitEnd::done) return std::unexpected(end.end);
  return detail::select_result<detail::Selection<Os...>, 0>(end.which, ops...);
}

// A list made at run time.
template <class T>
struct Selected {
  std::size_t index = 0;
  T value;
};

namespace detail {

template <class T>
SelectEnd select_list(std::int64_t deadline, Raise raise, std::span<Op<T>> ops) {
  std::size_t count = 0;
  for (const Op<T>& one : ops) count += one.size();
  std::vector<SelectCase*> cases(count);
  std::vector<seam::SpinLock*> locks(count);
  SelectCase** into = cases.data();
  for (Op<T>& one : ops) {
    one.collect(into);
    into += one.size();
  }
  return run_select({cases.data(), locks.data(), count, deadline, raise});
}

template <class T>
Selected<T> selected(std::size_t which, std::span<Op<T>> ops) {
  std::size_t index = 0;
  for (; which >= ops[index].size(); ++index) which -= ops[index].size();
  return {index, ops[index].result(which)};
}

}  // namespace detail

template <class T>
Selected<T> select(std::span<Op<T>> ops) {
  return detail::selected(detail::select_list(seam::no_deadline, detail::Raise::yes, ops).which, ops);
}
template <class T>
std::optional<Selected<T>> select_until(std::chrono::steady_clock::time_point when, std::span<Op<T>> ops) {
  const detail::SelectEnd end = detail::select_list(detail::deadline_at(when), detail::Raise::yes, ops);
  if (end.end != detail::WaitEnd::done) return std::nullopt;
  return detail::selected(end.which, ops);
}
template <class T>
std::optional<Selected<T>> select_for(std::chrono::nanoseconds span, std::span<Op<T>> ops) {
  const detail::SelectEnd end = detail::select_list(detail::deadline_after(span), detail::Raise::yes, ops);
  if (end.end != detail::WaitEnd::done) return std::nullopt;
  return detail::selected(end.which, ops);
}
template <class T>
std::expected<Selected<T>, WaitResult> select_result(std::chrono::steady_clock::time_point when, std::span<Op<T>> ops) {
  const detail::SelectEnd end = detail::select_list(detail::deadline_at(when), detail::Raise::quietly, ops);
  if (end.end != detail::WaitEnd::done) return std::unexpected(end.end);
  return detail::selected(end.which, ops);
}
template <class T>
Selected<T> select(std::vector<Op<T>>& ops) {
  return select(std::span<Op<T>>(ops));
}
template <class T>
std::optional<Selected<T>> select_until(std::chrono::steady_clock::time_point when, std::vector<Op<T>>& ops) {
  return select_until(when, std::span<Op<T>>(ops));
}
template <class T>
std::optional<Selected<T>> select_for(std::chrono::nanoseconds span, std::vector<Op<T>>& ops) {
  return select_for(span, std::span<Op<T>>(ops));
}
template <class T>
std::expected<Selected<T>, WaitResult> select_result(std::chrono::steady_clock::time_point when,
                                                     std::vector<Op<T>>& ops) {
  return select_result(when, std::span<Op<T>>(ops));
}

}  // namespace weft::inline v0

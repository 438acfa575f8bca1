// SPDX-License-Identifier: MIT
// What: several futures at once. Arguments are functions, which are started as async would, or futures, which are used
// up; nothing that they started is left when these return or throw.
//
//   auto first = weft::race([] { return fast(); }, [] { return other(); });      // std::variant, at the winner's
//   position auto named = weft::race(weft::label<"mirror">(f), weft::label<"origin">(g)); // named.label() == "mirror"
//   auto [a, b] = weft::join_all(f, g);                                          // all results, void as std::monostate
//   int value = weft::any(std::move(futures)).value;                             // the first success of a vector
//   for (weft::Future<int>& done : weft::as_completed(std::move(futures))) ...   // in the order of their ends
//
// The winner is the first that ends without a failure. Losers are asked to stop (CancelReason::race_lost) and waited
// for, shielded, so a race takes the winner's time and what the losers need to unwind. If all fail, the first failure
// is thrown, the others beside it (weft::other_errors()). Under a BlockingIo arguments run one after the other: those
// after the winner do not begin.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/future.hpp"

namespace weft::inline v0 {

namespace detail {

// Text as a template argument.
template <std::size_t n>
struct Letters {
  consteval Letters(const char (&text)[n]) { std::copy_n(text, n, at); }  // NOLINT(google-explicit-constructor)
  char at[n]{};
  constexpr std::string_view view() const { return {at, n - 1}; }
};

template <Letters name, class R>
struct Labelled {
  R racer;
};

template <class T>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<Future<T>> = true;

// What a racer gives.
template <class R>
struct RacerTraits {
  using Value = TaskResult<R>;
};
template <class T>
struct RacerTraits<Future<T>> {
  using Value = T;
};
template <Letters name, class R>
struct RacerTraits<Labelled<name, R>> : RacerTraits<R> {};
template <class R>
using RacerValue = typename RacerTraits<std::remove_cvref_t<R>>::Value;
template <class T>
using Shown = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// `begun`: those before it, of which one may have won already where things run one after the other.
bool is_decided(FutureState* const* begun, std::size_t count);

template <class R>
auto to_future(R&& racer, FutureState* const* begun, std::size_t count) {
  using Plain = std::remove_cvref_t<R>;
  if constexpr (is_future<Plain>) {
    static_assert(!std::is_lvalue_reference_v<R>, "a future is used up: std::move it");
    return Future<RacerValue<R>>(std::forward<R>(racer));
  } else {
    if (is_decided(begun, count)) return Future<RacerValue<R>>();
    return async(std::forward<R>(racer));
  }
}
template <Letters name, class R>
auto to_future(Labelled<name, R>&& racer, FutureState* const* begun, std::size_t count) {
  return to_future(std::forward<R>(racer.racer), begun, count);
}

// The index of the winner; the others have ended. Empty states do not take part.
std::size_t run_race(FutureState* const* states, std::size_t count);
// All have ended, without a failure.
void run_join(FutureState* const* states, std::size_t count);

template <class T>
Shown<T> take_value(Future<T>& future) {
  return std::move(*future.state()->value);
}

// The futures of some arguments, begun in order.
template <class... Rs>
class Racers {
 public:
  static constexpr std::size_t count = sizeof...(Rs);

  explicit Racers(bool stop_when_decided, Rs&&... racers)
      : stop_(stop_when_decided), futures_{begin(std::forward<Rs>(racers))...} {}

  FutureState* const* states() const { return states_.data(); }
  template <class V, std::size_t position = 0>
  V take(std::size_t which) {
    if constexpr (position + 1 < count) {
      if (which != position) return take<V, position + 1>(which);
    }
    return V(std::in_place_index<position>, take_value(std::get<position>(futures_)));
  }
  auto take_all() {
    return std::apply([](auto&... each) { return std::tuple<Shown<RacerValue<Rs>>...>{take_value(each)...}; },
                      futures_);
  }

 private:
  template <class R>
  auto begin(R&& racer) {
    auto future = to_future(std::forward<R>(racer), states_.data(), stop_ ? begun_ : 0);
    states_[begun_++] = future.state();
    return future;
  }

  bool stop_;
  std::size_t begun_ = 0;
  std::array<FutureState*, count> states_{};
  std::tuple<Future<RacerValue<Rs>>...> futures_;  // braced: in the order as written
};

template <class R>
concept LabelledRacer =
    requires(std::remove_cvref_t<R> r) { []<Letters name, class P>(const Labelled<name, P>&) {}(r); };

template <class R>
inline constexpr std::string_view label_of = {};
template <Letters name, class R>
inline constexpr std::string_view label_of<Labelled<name, R>> = name.view();

template <class R>
concept Racer = is_future<std::remove_cvref_t<R>> || std::invocable<std::decay_t<R>&>;

}  // namespace detail

// A racer with a name.
template <detail::Letters name, class R>
auto label(R&& racer) {
  return detail::Labelled<name, R>{std::forward<R>(racer)};
}

// What a race of labelled ones gives: a variant at the winner's position, that knows the labels, too.
template <class... Rs>
class RaceResult {
 public:
  using Variant = std::variant<detail::Shown<detail::RacerValue<Rs>>...>;

  explicit RaceResult(Variant&& value) : value_(std::move(value)) {}

  std::string_view label() const { return labels[value_.index()]; }
  std::size_t index() const { return value_.index(); }
  template <detail::Letters name>
  bool is() const {
    return value_.index() == position<name>();
  }
  // Throws std::bad_variant_access if another one won.
  template <detail::Letters name>
  auto& get() {
    return std::get<position<name>()>(value_);
  }
  Variant& variant() { return value_; }

 private:
  static constexpr std::array<std::string_view, sizeof...(Rs)> labels{detail::label_of<std::remove_cvref_t<Rs>>...};
  template <detail::Letters name>
  static consteval std::size_t position() {
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == name.view()) return i;
    throw "no racer has this label";  // not a constant: the compiler says so
  }
  Variant value_;
};

template <detail::Racer... Rs>
  requires(sizeof...(Rs) > 0)
auto race(Rs&&... racers) {
  detail::Racers<Rs...> all(true, std::forward<Rs>(racers)...);
  const std::size_t winner = detail::run_race(all.states(), all.count);
  return all.template take<std::variant<detail::Shown<detail::RacerValue<Rs>>...>>(winner);
}
template <detail::LabelledRacer... Rs>
  requires(sizeof...(Rs) > 0)
auto race(Rs&&... racers) {
  detail::Racers<Rs...> all(true, std::forward<Rs>(racers)...);
  const std::size_t winner = detail::run_race(all.states(), all.count);
  return RaceResult<Rs...>(all.template take<typename RaceResult<Rs...>::Variant>(winner));
}

// The first failure asks the others to stop; all have ended when it is thrown, with the others' beside it.
template <detail::Racer... Rs>
auto join_all(Rs&&... racers) {
  detail::Racers<Rs...> all(false, std::forward<Rs>(racers)...);
  detail::run_join(all.states(), all.count);
  return all.take_all();
}

namespace detail {
template <class T>
std::vector<FutureState*> states_of(const std::vector<Future<T>>& futures) {
  std::vector<FutureState*> states;
  states.reserve(futures.size());
  for (const Future<T>& future : futures) {
    if (!future) refuse_empty_future();
    states.push_back(future.state());
  }
  return states;
}
}  // namespace detail

template <class T>
auto join_all(std::vector<Future<T>> futures) {
  const std::vector<detail::FutureState*> states = detail::states_of(futures);
  detail::run_join(states.data(), states.size());
  std::vector<detail::Shown<T>> values;
  values.reserve(futures.size());
  for (Future<T>& future : futures) values.push_back(detail::take_value(future));
  return values;
}

template <class T>
struct AnyResult {
  std::size_t index = 0;
  T value;
};

// The first success. None at all among none: std::invalid_argument.
template <class T>
AnyResult<detail::Shown<T>> any(std::vector<Future<T>> futures) {
  const std::vector<detail::FutureState*> states = detail::states_of(futures);
  const std::size_t winner = detail::run_race(states.data(), states.size());
  return {winner, detail::take_value(futures[winner])};
}

namespace detail {

// Who has arrived of a set of futures, one after the other.
class Arrivals {
 public:
  explicit Arrivals(std::vector<FutureState*> states);
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;
  // Waits. The number of states: all have arrived.
  std::size_t next();

 private:
  std::vector<FutureState*> states_;
  std::vector<FutureNode> nodes_;
  Gathering gathering_;
  std::size_t arrived_ = 0;
};

}  // namespace detail

// An input range over futures in the order in which they end, failed and cancelled ones as well: await() them, it does
// not wait. What is left when the range goes is asked to stop and waited for.
template <class T>
class AsCompleted {
 public:
  explicit AsCompleted(std::vector<Future<T>> futures)
      : futures_(std::make_unique<std::vector<Future<T>>>(std::move(futures))),
        arrivals_(std::make_unique<detail::Arrivals>(detail::states_of(*futures_))) {}

  class iterator {
   public:
    using value_type = Future<T>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    iterator() = default;
    explicit iterator(AsCompleted* all) : all_(all) { ++*this; }
    Future<T>& operator*() const { return (*all_->futures_)[at_]; }
    // Which of the vector it was.
    std::size_t index() const { return at_; }
    iterator& operator++() {
      at_ = all_->arrivals_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool over() const { return at_ == all_->futures_->size(); }
    friend bool operator==(const iterator& self, std::default_sentinel_t) { return self.over(); }

   private:
    AsCompleted* all_ = nullptr;
    std::size_t at_ = 0;
  };
  iterator begin() { return iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::unique_ptr<std::vector<Future<T>>> futures_;
  std::unique_ptr<detail::Arrivals> arrivals_;  // goes first: it knows the futures
};

template <class T>
AsCompleted<T> as_completed(std::vector<Future<T>> futures) {
  return AsCompleted<T>(std::move(futures));
}

}  // namespace weft::inline v0

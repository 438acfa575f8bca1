// SPDX-License-Identifier: MIT
#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "signal/counted.hpp"
#include "weft/payload.hpp"

using namespace weft;

namespace {

constexpr std::size_t slots = 4;
constexpr int kinds = 10;

// A slot of the model: nothing (kind -1), or a value of one of the kinds.
struct Model {
  int kind = -1;
  int value = 0;
};

using Inline = Counted<32>;
using Small = Counted<16>;
using Big = Counted<72>;
using Wary = Counted<16, true>;
using Aligned = Counted<64, false, 64>;
using Wide = std::array<int, 7>;

Payload make(int kind, int value, Counts& counts) {
  switch (kind) {
    case 0:
      return value;
    case 1:
      return std::to_string(value);
    case 2:
      return "a text that is too long to sit inside of a string object " + std::to_string(value);
    case 3:
      return Wide{value, 1, 2, 3, 4, 5, value};
    case 4:
      return std::make_shared<int>(value);
    case 5:
      return Payload::make<Inline>(counts, value);
    case 6:
      return Payload::make<Small>(counts, value);
    case 7:
      return Payload(Big(counts, value));
    case 8:
      return Payload(Wary(counts, value));
    default:
      return Payload::make<Aligned>(counts, value);
  }
}

bool holds(const Payload& p, const Model& model) {
  auto text = [&](std::string prefix) { return p.as<std::string>() == prefix + std::to_string(model.value); };
  switch (model.kind) {
    case -1:
      return p.empty();
    case 0:
      return p.as<int>() == model.value;
    case 1:
      return text("");
    case 2:
      return text("a text that is too long to sit inside of a string object ");
    case 3:
      return p.as<Wide>() == Wide{model.value, 1, 2, 3, 4, 5, model.value};
    case 4:
      return *p.as<std::shared_ptr<int>>() == model.value;
    case 5:
      return p.as<Inline>().value() == model.value;
    case 6:
      return p.as<Small>().value() == model.value;
    case 7:
      return p.as<Big>().value() == model.value;
    case 8:
      return p.as<Wary>().value() == model.value;
    default:
      return p.as<Aligned>().value() == model.value;
  }
}

void take_out(Payload& p, int kind) {
  switch (kind) {
    case 1:
    case 2:
      (void)std::move(p).as<std::string>();
      break;
    case 5:
      (void)std::move(p).as<Inline>();
      break;
    case 7:
      (void)std::move(p).as<Big>();
      break;
    default:
      p.reset();
      break;
  }
}

}  // namespace

TEST_CASE("payload: any chain of moves keeps every value, leaks none and destroys none twice") {
  CHECK(rc::check([] {
    Counts counts;
    {
      std::array<Payload, slots> real;
      std::array<Model, slots> model;
      auto steps = *rc::gen::container<std::vector<std::array<int, 4>>>(
          rc::gen::construct<std::array<int, 4>>(rc::gen::inRange(0, 7), rc::gen::inRange(0, int{slots}),
                                                 rc::gen::inRange(0, int{slots}), rc::gen::inRange(0, kinds)));
      int value = 0;
      for (auto [action, to_index, from_index, kind] : steps) {
        auto to = static_cast<std::size_t>(to_index), from = static_cast<std::size_t>(from_index);
        switch (action) {
          case 0:
          case 1:
            real[to] = make(kind, ++value, counts);
            model[to] = {kind, value};
            break;
          case 2:
          case 3:
            real[to] = std::move(real[from]);
            model[to] = model[from];
            if (to != from) model[from] = {};
            break;
          case 4: {
            Payload passing(std::move(real[from]));
            Payload again(std::move(passing));
            RC_ASSERT(passing.empty());
            RC_ASSERT(real[from].empty());
            RC_ASSERT(holds(again, model[from]));
            real[from] = std::move(again);
            break;
          }
          case 5:
            std::swap(real[to], real[from]);
            std::swap(model[to], model[from]);
            break;
          default:
            take_out(real[to], model[to].kind);
            model[to] = {};
            break;
        }
        int expected = 0;
        for (std::size_t i = 0; i < slots; ++i) {
          RC_ASSERT(holds(real[i], model[i]));
          if (model[i].kind >= 5) ++expected;
        }
        RC_ASSERT(counts.alive == expected);
      }
    }
    RC_ASSERT(counts.alive == 0);
  }));
}

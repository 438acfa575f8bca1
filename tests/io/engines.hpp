// SPDX-License-Identifier: MIT
// What: runs the same test on every engine that this kernel has, with several numbers of workers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "io/engine.hpp"
#include "sched/universe.hpp"
#include "weft/runtime.hpp"

namespace weft_test {

using IoEngine = weft::RuntimeOptions::IoEngine;

inline bool has_uring() {
  static const bool has = [] {
    weft::RuntimeOptions options = workers(1);
    options.io = IoEngine::uring;
    weft::Runtime runtime(options);
    return runtime.run([] {
      long error = 0;
      return weft::detail::engine_of(*weft::detail::this_worker()->runtime, error) != nullptr;
    });
  }();
  return has;
}

inline std::vector<IoEngine> engines() {
  std::vector<IoEngine> all{IoEngine::epoll};
  if (has_uring()) all.push_back(IoEngine::uring);
  return all;
}

// What WEFT_IO says holds for options that name no engine: it is taken away meanwhile.
class NoWish {
 public:
  NoWish() {
    if (const char* there = std::getenv("WEFT_IO")) wish_ = there;
    unsetenv("WEFT_IO");
  }
  ~NoWish() { wish_ ? setenv("WEFT_IO", wish_->c_str(), 1) : unsetenv("WEFT_IO"); }
  NoWish(const NoWish&) = delete;
  NoWish& operator=(const NoWish&) = delete;

 private:
  std::optional<std::string> wish_;
};

inline weft::RuntimeOptions with_engine(IoEngine engine, unsigned count) {
  weft::RuntimeOptions options = workers(count);
  options.io = engine;
  return options;
}

// body(), as the main task of a runtime, once per engine and number of workers.
template <class F>
void on_each_engine(F&& body) {
  for (const IoEngine engine : engines()) {
    for (const unsigned count : {1U, 2U, 4U}) {
      INFO("engine: ", weft::to_string(engine), ", workers: ", count);
      weft::Runtime runtime(with_engine(engine, count));
      runtime.run([&] { body(); });
    }
  }
}

}  // namespace weft_test

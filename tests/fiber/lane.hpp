// SPDX-License-Identifier: MIT
// What: a thread that lives as long as the object and runs closures for its owner, one at a time.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace weft_test {

class Lane {
 public:
  Lane() : thread_([this] { serve(); }) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    work_ = nullptr;
    go_.release();
    thread_.join();
  }

  // Returns when it has been done. It must not throw.
  void run(std::function<void()> work) {
    work_ = std::move(work);
    go_.release();
    done_.acquire();
  }

 private:
  void serve() {
    for (;;) {
      go_.acquire();
      if (!work_) return;
      work_();
      work_ = nullptr;
      done_.release();
    }
  }

  std::function<void()> work_;
  std::binary_semaphore go_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;
};

}  // namespace weft_test

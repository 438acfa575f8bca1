// SPDX-License-Identifier: MIT
// Relaxed: a number that changes under the mutex, for who cannot take it.
#include "sched/runtimes.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace weft::inline v0::detail {
namespace {

struct Registry {
  seam::Mutex mutex;
  std::vector<RuntimeCore*> all;  // guarded by mutex
};

seam::Atomic<unsigned> living{0};

Registry& registry() {
  static Registry* the = new Registry;  // never destroyed: a runtime with tasks that refused to end outlives everything
  return *the;
}

}  // namespace

void add_runtime(RuntimeCore& runtime) {
  Registry& r = registry();
  const std::lock_guard guard(r.mutex);
  r.all.push_back(&runtime);
  living.fetch_add(1, std::memory_order_relaxed);
}

void remove_runtime(RuntimeCore& runtime) noexcept {
  Registry& r = registry();
  const std::lock_guard guard(r.mutex);
  if (std::erase(r.all, &runtime) != 0) living.fetch_sub(1, std::memory_order_relaxed);
}

bool any_runtime() noexcept {
  return living.load(std::memory_order_relaxed) != 0;
}

bool several_runtimes() noexcept {
  return living.load(std::memory_order_relaxed) > 1;
}

void for_each_runtime(void (*visit)(RuntimeCore& runtime, void* context), void* context) {
  Registry& r = registry();
  const std::lock_guard guard(r.mutex);
  for (RuntimeCore* runtime : r.all) visit(*runtime, context);
}

}  // namespace weft::inline v0::detail

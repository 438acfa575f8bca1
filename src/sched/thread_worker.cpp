// SPDX-License-Identifier: MIT
#include "sched/thread_worker.hpp"

extern "C" {
// By its name alone, in thread_worker().
[[gnu::used, gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] constinit thread_local void* weft_thread_worker = nullptr;
}

namespace weft::inline v0::detail {

void set_thread_worker(Worker* worker) {
  weft_thread_worker = worker;
}

#if !defined(__x86_64__) && !defined(__aarch64__)
Worker* thread_worker() {
  return static_cast<Worker*>(weft_thread_worker);
}
#endif

}  // namespace weft::inline v0::detail

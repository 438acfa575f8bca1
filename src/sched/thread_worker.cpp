// SPDX-License-Identifier: MIT
#include "sched/thread_worker.hpp"

#if WEFT_THREAD_WORKER

extern "C" {
// By its name alone, in thread_worker().
[[gnu::used, gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] constinit thread_local void* weft_thread_worker = nullptr;
}

namespace weft::inline v0::detail {
void set_thread_worker(Worker* worker) {
  weft_thread_worker = worker;
}
}  // namespace weft::inline v0::detail

#else

namespace weft::inline v0::detail {
void set_thread_worker(Worker* /*worker*/) {}  // the root knows
}  // namespace weft::inline v0::detail

#endif

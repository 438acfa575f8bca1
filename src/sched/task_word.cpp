// SPDX-License-Identifier: MIT
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

const char* to_string(TaskState state) {
  switch (state) {
    case TaskState::free:
      return "FREE";
    case TaskState::fresh:
      return "INIT";
    case TaskState::runnable:
      return "RUNNABLE";
    case TaskState::running:
      return "RUNNING";
    case TaskState::parking:
      return "PARKING";
    case TaskState::suspended:
      return "SUSPENDED";
    case TaskState::joining:
      return "JOINING";
    case TaskState::done:
      return "DONE";
    case TaskState::cancelled:
      return "CANCELLED";
  }
  return "?";
}

const char* to_string(WakeReason reason) {
  switch (reason) {
    case WakeReason::none:
      return "none";
    case WakeReason::data:
      return "data";
    case WakeReason::closed:
      return "closed";
    case WakeReason::cancel:
      return "cancel";
    case WakeReason::timeout:
      return "timeout";
    case WakeReason::signal:
      return "signal";
    case WakeReason::flag:
      return "flag";
    case WakeReason::child:
      return "child";
  }
  return "?";
}

}  // namespace weft::inline v0::detail

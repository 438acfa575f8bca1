// SPDX-License-Identifier: MIT
// What: every way in which a runtime says no.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft::inline v0 {

enum class RuntimeErrc : std::uint8_t {
  bad_environment,  // a WEFT_ variable that cannot be understood
  bad_options,      // RuntimeOptions that contradict themselves
  no_threads,       // the system refuses to start a thread
  no_memory,        // none for another task record; what was spawned before is not concerned
  not_in_task,      // needs a running task
  nested_run,       // run or shutdown inside a task
  busy,             // somebody else is in run()
  shut_down,        // the runtime takes no more tasks
  deadlock,         // nothing can run any more, and the task of run() has not ended
};
const char* to_string(RuntimeErrc code);

// what() names the cause and says what was expected.
class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(RuntimeErrc code, const std::string& what) : std::runtime_error(what), code_(code) {}
  RuntimeErrc code() const noexcept { return code_; }

 private:
  RuntimeErrc code_;
};

}  // namespace weft::inline v0

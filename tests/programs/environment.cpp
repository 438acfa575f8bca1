// SPDX-License-Identifier: MIT
// Makes a fiber in whatever environment it is given and tells what came of it. With the argument "mend" it removes the
// WEFT_ variables after the first failure and tries again. With "kill-noexcept" it kills what cannot be killed.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weft/fiber.hpp"

using namespace weft;

namespace {

bool try_one() {
  try {
    Fiber f([] { return 42; });
    std::printf("ran: %d, stack at least %s, depth %u, guard %s\n", f.resume().value.as<int>(),
                f.stack_size() >= std::size_t{1} << 20 ? "1M" : "small", recursion_limit(),
                detail::stack_stats().guard == detail::GuardKind::madvise ? "madvise" : "mprotect");
    return true;
  } catch (const StackError& error) {
    std::printf("StackError: %s\n", error.what());
  } catch (const FiberError& error) {
    std::printf("FiberError %s: %s\n", to_string(error.code()), error.what());
  }
  return false;
}

void stop_here() noexcept {
  yield(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "kill-noexcept") {
    Fiber f(stop_here, "y", {.name = "stuck"});
    f.resume();
    f.kill();
    return 0;
  }
  if (try_one()) return 0;
  if (what != "mend") return 1;
  for (const char* name : {"WEFT_STACK_SIZE", "WEFT_GUARD", "WEFT_MAX_DEPTH", "WEFT_STACK_WATERMARK"}) unsetenv(name);
  return try_one() ? 0 : 1;
}

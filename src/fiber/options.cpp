// SPDX-License-Identifier: MIT
#include "fiber/options.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "weft/detail/fiber_core.hpp"
#include "weft/fiber_error.hpp"

namespace weft::inline v0::detail {

bool option_watermark = false;

namespace {

const char* variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as safe as the program's own setenv
  return text != nullptr && *text != '\0' ? text : nullptr;
}

[[noreturn]] void refuse(const char* name, const char* text, const char* expected) {
  throw FiberError(FiberErrc::bad_environment, std::string(name) + "=" + text + ": expected " + expected);
}

void read_max_depth() {
  const char* text = variable("WEFT_MAX_DEPTH");
  if (text == nullptr) return;
  std::uint32_t depth = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, depth);
  if (error != std::errc{} || rest != end || depth == 0 || depth > most_depth)
    refuse("WEFT_MAX_DEPTH", text, "a number of nested resumes from 1 to 16777215");
  max_depth = depth;
}

void read_watermark() {
  const char* text = variable("WEFT_STACK_WATERMARK");
  if (text == nullptr || std::strcmp(text, "0") == 0) return;
  if (std::strcmp(text, "1") != 0) refuse("WEFT_STACK_WATERMARK", text, "0 or 1");
  option_watermark = true;
}

}  // namespace

void read_options() {
  static const bool done = [] {
    read_max_depth();
    read_watermark();
    return true;
  }();
  (void)done;
}

}  // namespace weft::inline v0::detail

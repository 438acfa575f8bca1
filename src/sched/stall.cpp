// SPDX-License-Identifier: MIT
#include "weft/stall.hpp"

#include <string>
#include <string_view>

#include "base/text_writer.hpp"

namespace weft::inline v0 {
namespace {

bool is_in(const Trace& stack, std::string_view function) {
  for (const TracePart& part : stack.parts)
    for (const ResolvedFrame& frame : resolve(part))
      if (frame.function.find(function) != std::string::npos) return true;
  return false;
}

}  // namespace

const char* to_string(StallReport::Kind kind) {
  return kind == StallReport::Kind::blocked ? "blocked" : "computing";
}

std::string to_string(const StallReport& report) {
  char buffer[64];
  detail::TextWriter span(buffer);
  span.duration(report.duration.count());
  std::string text = "task " + std::to_string(report.task);
  if (!report.name.empty()) text += " \"" + report.name + "\"";
  text += report.kind == StallReport::Kind::blocked ? " blocks worker " : " keeps worker ";
  text += std::to_string(report.worker) + ", since " + std::string(span.view());
  text += report.kind == StallReport::Kind::blocked ? ", in a call of the system" : ", without a suspension point";
  text += std::string("; spawned at ") + report.site.file_name() + ":" + std::to_string(report.site.line()) + "\n";
  if (is_in(report.stack, "__cxa_guard_acquire"))
    text += "  it waits for the initialiser of a static, which another task may have left half done\n";
  else if (is_in(report.stack, "seam::FutexMutex::lock") || is_in(report.stack, "seam::TasLock::lock"))
    text +=
        "  it waits for a lock of the runtime, whose holder waits for a processor: more threads want to run than can\n";
  else if (report.kind == StallReport::Kind::blocked)
    text += "  weft::blocking would make the call on a thread of its own\n";
  text += report.stack.empty() ? std::string("  (no stack: the thread did not answer)\n") : to_string(report.stack);
  return text;
}

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
#include "fiber/terminate.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

#include "base/sys.hpp"
#include "base/text_writer.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/detail/seam.hpp"
#include "weft/fiber_error.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {
namespace {

std::terminate_handler previous;
seam::Atomic<ErrorTeller> error_teller{nullptr};

// Of an error that came out of a fiber and that nobody caught. The frames are known only here.
void report_trace() noexcept {
  try {
    const Trace origin = trace();
    if (origin.parts.size() < 2) return;
    const std::string text = "weft: an error that nobody caught came from\n" + to_string(origin);
    sys::write(2, text.data(), text.size());
  } catch (...) {
    // Out of memory: the process ends without it.
  }
}

[[noreturn]] void on_terminate() {
  const FiberCore* core = current_core();
  const std::type_info* type = abi::__cxa_current_exception_type();
  if ((core->flags & flag_killed) && type != nullptr && *type == typeid(Unwind)) {
    char buffer[1024];
    TextWriter out(buffer);
    out.text("weft: fiber ").unsigned_decimal(core->id);
    if (core->name[0] != '\0') out.text(" \"").text(core->name).text("\"");
    out.text(" was killed (or its last handle destroyed) where it cannot be unwound: inside a noexcept function");
    out.text("\n  made at ").text(core->site.file_name()).text(":").unsigned_decimal(core->site.line());
    out.text(" in ").text(core->site.function_name());
    out.text("\n  let it finish first, or suspend it outside of noexcept functions and destructors\n");
    out.write_to(2);
  } else if (const ErrorTeller tell = error_teller.load(std::memory_order_acquire);
             tell == nullptr || (type == nullptr && std::uncaught_exceptions() == 0) || !tell(type)) {
    if (type != nullptr) report_trace();
  }
  if (previous != nullptr) previous();
  std::abort();
}

}  // namespace

void set_error_teller(ErrorTeller teller) noexcept {
  error_teller.store(teller, std::memory_order_release);
}

void install_terminate_report() noexcept {
  static const bool done = [] {
    previous = std::set_terminate(on_terminate);
    return true;
  }();
  (void)done;
}

}  // namespace weft::inline v0::detail

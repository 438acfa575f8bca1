// SPDX-License-Identifier: MIT
#include "fiber/terminate.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <typeinfo>

#include "base/text_writer.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/fiber_error.hpp"

namespace weft::inline v0::detail {
namespace {

std::terminate_handler previous;

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
  }
  if (previous != nullptr) previous();
  std::abort();
}

}  // namespace

void install_terminate_report() noexcept {
  static const bool done = [] {
    previous = std::set_terminate(on_terminate);
    return true;
  }();
  (void)done;
}

}  // namespace weft::inline v0::detail

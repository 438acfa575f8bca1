// SPDX-License-Identifier: MIT
#include "fiber/symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#if defined(WEFT_HAS_BACKTRACE) && WEFT_HAS_BACKTRACE
#include <backtrace.h>
#endif

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {
namespace {

std::string demangle(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

void resolve_dynamic(const void* address, std::vector<ResolvedFrame>& frames) {
  ResolvedFrame frame;
  frame.address = address;
  Dl_info info;
  if (dladdr(const_cast<void*>(address), &info) != 0) {
    if (info.dli_sname != nullptr) frame.function = demangle(info.dli_sname);
    if (info.dli_fname != nullptr) frame.file = info.dli_fname;
  }
  frames.push_back(std::move(frame));
}

#if defined(WEFT_HAS_BACKTRACE) && WEFT_HAS_BACKTRACE

struct Collect {
  const void* address;
  std::vector<ResolvedFrame>* frames;
};

// One at a time: two that begin at once would read everything twice, and how libbacktrace orders them by itself is
// nothing that ThreadSanitizer sees.
seam::Mutex symbols_lock;
backtrace_state* symbol_state() {
  static backtrace_state* state = backtrace_create_state(nullptr, 0, [](void*, const char*, int) {}, nullptr);
  return state;
}

int on_frame(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  auto* collect = static_cast<Collect*>(data);
  if (function == nullptr && file == nullptr) return 0;
  collect->frames->push_back({collect->address, function != nullptr ? demangle(function) : std::string(),
                              file != nullptr ? file : std::string(), line});
  return 0;
}

void on_symbol(void* data, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
  if (name != nullptr) *static_cast<std::string*>(data) = demangle(name);
}

bool resolve_debug(const void* address, std::uintptr_t pc, std::vector<ResolvedFrame>& frames) {
  const std::lock_guard guard(symbols_lock);
  backtrace_state* state = symbol_state();
  if (state == nullptr) return false;
  const std::size_t before = frames.size();
  Collect collect{address, &frames};
  backtrace_pcinfo(state, pc, on_frame, [](void*, const char*, int) {}, &collect);
  if (frames.size() > before && !frames.back().function.empty()) return true;
  std::string name;
  backtrace_syminfo(state, pc, on_symbol, [](void*, const char*, int) {}, &name);
  if (name.empty()) return frames.size() > before;
  if (frames.size() == before) frames.push_back({address, {}, {}, 0});
  frames.back().function = name;
  return true;
}

#endif

}  // namespace

void resolve_address(const void* address, bool exact, std::vector<ResolvedFrame>& frames) {
  const std::uintptr_t pc = reinterpret_cast<std::uintptr_t>(address) - (exact ? 0 : 1);
#if defined(WEFT_HAS_BACKTRACE) && WEFT_HAS_BACKTRACE
  if (resolve_debug(address, pc, frames)) return;
#endif
  resolve_dynamic(reinterpret_cast<const void*>(pc), frames);
  frames.back().address = address;
}

}  // namespace weft::inline v0::detail

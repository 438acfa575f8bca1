// SPDX-License-Identifier: MIT
#include "explorer/coroutine.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/sys.hpp"

#if WEFT_ASAN
extern "C" void __lsan_register_root_region(const void* begin, std::size_t size);
extern "C" void __lsan_unregister_root_region(const void* begin, std::size_t size);
#endif

namespace weft::inline v0::verify {

namespace sys = detail::sys;

Coroutine::ExceptionGlobals& Coroutine::exception_globals() {
  // The layout is part of the C++ ABI: a pointer to the innermost caught exception, a count of those in flight.
  return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

void Coroutine::adopt_this_thread() {
#if WEFT_ASAN
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) std::abort();
  pthread_attr_getstack(&attributes, &bottom, &size);
  pthread_attr_destroy(&attributes);
  tools_.bottom = bottom;
  tools_.size = size;
#elif WEFT_TSAN
  tools_.tsan_fiber = __tsan_get_current_fiber();
#endif
}

void Coroutine::prepare(Entry entry, void* argument) {
  if (mapping_ == nullptr) {
    const long mapped =
        sys::mmap(nullptr, guard_size + stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (sys::is_error(mapped)) throw std::bad_alloc();
    mapping_ = reinterpret_cast<std::byte*>(mapped);
    if (sys::mprotect(mapping_, guard_size, PROT_NONE) != 0) throw std::bad_alloc();
    tools_.bottom = mapping_ + guard_size;
    tools_.size = stack_size;
#if WEFT_ASAN
    __lsan_register_root_region(tools_.bottom, stack_size);
#elif WEFT_TSAN
    tools_.tsan_fiber = __tsan_create_fiber(0);
#endif
  }
#if WEFT_ASAN
  __asan_unpoison_memory_region(tools_.bottom, stack_size);  // frames of an earlier run were left, not unwound
#endif
  entry_ = entry;
  argument_ = argument;
  exceptions_ = {};
  tools_.fake_stack = nullptr;
  std::byte* top = mapping_ + guard_size + stack_size;
#if defined(__x86_64__)
  // As after a call: the return address, 0, ends every walk of the stack.
  top -= 16;
  *reinterpret_cast<void**>(top + 8) = nullptr;
  context_ = {top + 8, reinterpret_cast<void*>(&Coroutine::enter), nullptr, nullptr};
#else
  context_ = {top, reinterpret_cast<void*>(&Coroutine::enter), nullptr, nullptr};
#endif
}

Coroutine::~Coroutine() {
  if (mapping_ == nullptr) return;
#if WEFT_ASAN
  __lsan_unregister_root_region(tools_.bottom, stack_size);
#elif WEFT_TSAN
  __tsan_destroy_fiber(tools_.tsan_fiber);
#endif
  sys::munmap(mapping_, guard_size + stack_size);
}

void Coroutine::enter(Coroutine* self) {
  detail::tools_after_switch(self->tools_);
  self->entry_(self->argument_);
  std::abort();
}

void Coroutine::switch_to(Coroutine& from, Coroutine& to) {
  ExceptionGlobals& globals = exception_globals();
  from.exceptions_ = globals;
  globals = to.exceptions_;
  detail::tools_before_switch(from.tools_, to.tools_, false);
  detail::switch_context(from.context_, to.context_, &to);
  detail::tools_after_switch(from.tools_);
}

}  // namespace weft::inline v0::verify

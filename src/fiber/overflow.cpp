// SPDX-License-Identifier: MIT
#include "fiber/overflow.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/sys.hpp"
#include "base/text_writer.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t alt_stack_bytes = std::size_t{64} << 10;

struct sigaction previous_segv;
struct sigaction previous_bus;

void report(std::uintptr_t address, unsigned shift) {
  const std::uintptr_t base = address >> shift << shift;
  const Slot slot{base, shift};
  const FiberCore* core = core_of(slot);
  char buffer[1024];
  TextWriter out(buffer);
  out.text("weft: stack overflow in fiber ").unsigned_decimal(core->id);
  if (core->name[0] != '\0') out.text(" \"").text(core->name).text("\"");
  out.text("\n  made at ").text(core->site.file_name()).text(":").unsigned_decimal(core->site.line());
  out.text(" in ").text(core->site.function_name());
  out.text("\n  stack of ").unsigned_decimal(slot.ceiling() - slot.floor()).text(" bytes, touched ");
  out.unsigned_decimal(slot.floor() - address)
      .text(" bytes below its end at ")
      .pointer(reinterpret_cast<const void*>(address));
  out.text("\n  give it more with FiberOptions::stack_size or WEFT_STACK_SIZE, or put large objects on the heap\n");
  out.write_to(2);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const unsigned shift = address >> address_bits == 0 ? slot_shift_of[address >> chunk_shift] : 0;
  if (shift != 0 && (address & ((std::uintptr_t{1} << shift) - 1)) < guard_bytes) {
    report(address, shift);
    // Dies of the same fault when the handler returns: the core dump shows the overflowing frame.
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
    return;
  }
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // A fault happens again when we return; a signal that somebody sent does not.
    const bool sent = info->si_code <= 0;
    if (sent && previous.sa_handler == SIG_IGN) return;
    sigaction(signal, &previous, nullptr);
    if (sent) raise(signal);
  } else {
    previous.sa_handler(signal);
  }
}

bool install_handler() {
  const char* wish = std::getenv("WEFT_OVERFLOW_REPORT");
  if (wish != nullptr && std::strcmp(wish, "0") == 0) return false;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
  return true;
}

}  // namespace

void* install_alt_stack() {
  static const bool installed = install_handler();
  if (!installed) return nullptr;
  stack_t present;
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return nullptr;
  const long memory = sys::mmap(nullptr, alt_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (sys::is_error(memory)) return nullptr;
  stack_t fresh{};
  fresh.ss_sp = reinterpret_cast<void*>(memory);
  fresh.ss_size = alt_stack_bytes;
  sigaltstack(&fresh, nullptr);
  return fresh.ss_sp;
}

void remove_alt_stack(void* stack) noexcept {
  if (stack == nullptr) return;
  stack_t present;
  if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == stack) {  // not one that somebody put in its place
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  sys::munmap(stack, alt_stack_bytes);
}

}  // namespace weft::inline v0::detail

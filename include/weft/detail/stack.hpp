// SPDX-License-Identifier: MIT
// What: where fiber stacks come from, and how a stack pointer finds its fiber.
//
//   chunk (64 MiB, aligned)  = slots of one size, a power of two from 256 KiB to 64 MiB
//   slot   low  | guard 64 KiB | usable, grows down <- first frame | FiberCore | colour gap | high
//
// `slot_shift_of[address >> 26]` is 0 for memory that is no fiber stack and log2(slot size) otherwise; the core's place
// in its slot is arithmetic on the address. So "which fiber am I" costs one byte load and no thread_local, and stays
// right when a fiber moves to another thread.
//
// Invariants
//   [STK-1] Every slot that was ever handed out has a working guard: a touch of it faults.
//   [STK-2] Chunks are never unmapped: a stale FiberCore* reads as another fiber's id or as zero, never as a fault.
//   [STK-3] The core's address depends on the slot alone, so records in slots are type-stable.
//   [STK-4] Cores are coloured: by 32 lines within the page and 16 pages, so that equal fields of neighbouring fibers
//           do not share cache sets. A page colour costs address space, not memory.
// Threads: allocate and release from any thread; a cache per thread in front of one locked pool per size.
// Rejected: one terabyte-sized reservation (emulators and Valgrind walk it page by page, RLIMIT_AS refuses it), a
// pointer to the core at the aligned top (a second page touched per fiber), mmap per stack (7 us and two VMAs each).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::inline v0::detail {

inline constexpr unsigned chunk_shift = 26;
inline constexpr unsigned address_bits = 48;
inline constexpr unsigned min_slot_shift = 18;
inline constexpr unsigned max_slot_shift = 26;
inline constexpr std::size_t guard_bytes = std::size_t{64} << 10;
inline constexpr std::size_t max_colour_bytes = 15 * 4096 + 31 * 64;

extern std::uint8_t slot_shift_of[std::size_t{1} << (address_bits - chunk_shift)];

constexpr std::uintptr_t colour_of(std::uintptr_t slot_index) {
  return ((slot_index & 31) << 6) + ((slot_index & 15) << 12);
}

// The end of the usable part of the slot that holds `address`: the FiberCore ends here.
constexpr std::uintptr_t slot_ceiling(std::uintptr_t address, unsigned shift) {
  const std::uintptr_t index = address >> shift;
  return ((index + 1) << shift) - colour_of(index);
}

[[gnu::always_inline]] inline std::uintptr_t stack_pointer() {
  std::uintptr_t sp;
#if defined(__x86_64__)
  asm volatile("movq %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(sp));
#else
  sp = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
  return sp;
}

struct Slot {
  std::uintptr_t base = 0;  // of the slot, guard included
  unsigned shift = 0;
  std::uintptr_t floor() const { return base + guard_bytes; }
  std::uintptr_t ceiling() const { return slot_ceiling(base, shift); }
  explicit operator bool() const { return base != 0; }
};

enum class GuardKind : std::uint8_t { madvise, mprotect };

struct StackStats {
  std::size_t slots = 0;  // ever carved, all sizes
  std::size_t free = 0;   // in the pools (thread caches not counted)
  std::size_t chunks = 0;
  std::size_t trimmed = 0;  // stacks whose pages were given back
  GuardKind guard = GuardKind::madvise;
};

// A stack with at least `usable` bytes below its core (0: the default). Throws StackError: out of address space, of
// mappings (mprotect guards), or of memory.
Slot allocate_stack(std::size_t usable);
void release_stack(Slot slot) noexcept;

// Gives the pages of all pooled stacks back to the system.
void trim_stacks() noexcept;
StackStats stack_stats() noexcept;
std::size_t default_stack_size();
// For tests and option parsing: "128K", "1M", "262144". Throws StackError that names the text.
std::size_t parse_size(const char* text, const char* what);
// The slots carved so far, in address order within a chunk; for enumeration and tests.
void for_each_slot(void (*visit)(Slot slot, void* context), void* context);

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "weft/detail/stack.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "base/sys.hpp"
#include "fiber/stack_pool.hpp"
#include "fiber/tool_hooks.hpp"
#include "weft/detail/seam.hpp"
#include "weft/fiber_error.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace weft::inline v0::detail {

alignas(64) std::uint8_t slot_shift_of[std::size_t{1} << (address_bits - chunk_shift)];

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << chunk_shift;
constexpr std::size_t carve_bytes = std::size_t{16} << 20;
constexpr std::size_t most_carved = carve_bytes >> min_slot_shift;
constexpr std::size_t keep_hot = 1024;  // pooled stacks that keep their pages: those that were used last
constexpr std::size_t trim_at_once = 64;
constexpr std::int64_t cold_after_ns = 1'000'000'000;
constexpr std::size_t slot_overhead = guard_bytes + max_colour_bytes + 1024;  // what a slot holds besides usable stack
constexpr std::size_t largest_stack = chunk_bytes - slot_overhead;

struct Chunk {
  std::uintptr_t base = 0;
  std::size_t carved = 0;  // slots that have left it so far
  GuardKind guard = GuardKind::madvise;
};

// Guarded by `lock`: everything. The vectors only grow, and `free` and `unguarded` have room for every carved slot, so
// neither releasing nor failing allocates.
struct Pool {
  seam::SpinLock lock;
  std::vector<std::uintptr_t> free;  // the last is taken first
  std::size_t clean = 0;             // so many of the first have no pages
  std::size_t unused = 0;            // so many of the first were not taken since `watched_since`
  std::int64_t watched_since = 0;    // 0: nothing is to be given back
  std::vector<Chunk> chunks;
  std::vector<std::uintptr_t> unguarded;  // carved, but the guard could not be installed: to be tried again
  std::size_t trimmed = 0;
};

// relaxed, both: hints. A keeper that is not seen yet means a page given back too early, a wish that is not seen yet
// one that is given back later.
seam::Atomic<int> keepers{0};
seam::Atomic<bool> trim_wanted{false};

Pool& pool_of(unsigned shift) {
  static Pool* pools = new Pool[max_slot_shift - min_slot_shift + 1];  // never destroyed: fibers may outlive main
  return pools[shift - min_slot_shift];
}

std::string errno_text(int error) {
  return std::string(std::strerror(error));
}

void demand_size(std::size_t usable, const std::string& who) {
  if (usable > largest_stack)
    throw StackError(who + "a fiber stack of " + std::to_string(usable) + " bytes is too large; the limit is " +
                     std::to_string(largest_stack));
}

enum class GuardChoice : std::uint8_t { automatic, madvise, mprotect };

GuardChoice guard_choice() {
  static const GuardChoice choice = [] {
    const char* text = std::getenv("WEFT_GUARD");
    if (text == nullptr || *text == '\0' || std::strcmp(text, "auto") == 0) return GuardChoice::automatic;
    if (std::strcmp(text, "madvise") == 0) return GuardChoice::madvise;
    if (std::strcmp(text, "mprotect") == 0) return GuardChoice::mprotect;
    throw StackError(std::string("WEFT_GUARD=") + text + ": expected auto, madvise or mprotect");
  }();
  return choice;
}

// A guard works if the kernel itself faults on it: it is asked to write the time there. (Valgrind answers many calls
// itself, this one it hands on; qemu's own nanosleep does not notice a bad address, this call does.)
bool faults(std::uintptr_t address) {
  return sys::error_of(sys::invoke(SYS_clock_gettime, CLOCK_MONOTONIC, static_cast<long>(address))) == EFAULT;
}

bool guard_by_madvise(std::uintptr_t base) {
  return sys::madvise(reinterpret_cast<void*>(base), guard_bytes, MADV_GUARD_INSTALL) == 0;
}

void guard_by_mprotect(std::uintptr_t base) {
  const long result = sys::mprotect(reinterpret_cast<void*>(base), guard_bytes, PROT_NONE);
  if (result == 0) return;
  throw StackError("cannot guard another fiber stack: mprotect says " + errno_text(sys::error_of(result)) +
                   ". Each guard made by mprotect takes two memory mappings; raise vm.max_map_count, keep fewer "
                   "fibers alive, or run on Linux 6.13 or newer, where guards take none");
}

std::uintptr_t map_chunk() {
  constexpr int protection = PROT_READ | PROT_WRITE;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const auto fail = [](long result) {
    throw StackError("cannot map 64 MiB of address space for fiber stacks: " + errno_text(sys::error_of(result)) +
                     "; see RLIMIT_AS, vm.max_map_count and vm.overcommit_memory");
  };
  // Mappings grow downwards side by side, so after the first aligned chunk a plain mmap is usually aligned as well.
  long result = sys::mmap(nullptr, chunk_bytes, protection, flags);
  if (sys::is_error(result)) fail(result);
  if (static_cast<std::uintptr_t>(result) % chunk_bytes == 0) return static_cast<std::uintptr_t>(result);
  sys::munmap(reinterpret_cast<void*>(result), chunk_bytes);
  result = sys::mmap(nullptr, 2 * chunk_bytes, protection, flags);
  if (sys::is_error(result)) fail(result);
  const auto raw = static_cast<std::uintptr_t>(result);
  const std::uintptr_t base = (raw + chunk_bytes - 1) & ~(chunk_bytes - 1);
  if (base > raw) sys::munmap(reinterpret_cast<void*>(raw), base - raw);
  if (raw + chunk_bytes > base) sys::munmap(reinterpret_cast<void*>(base + chunk_bytes), raw + chunk_bytes - base);
  return base;
}

GuardKind probe_guard(std::uintptr_t base) {
  if (guard_choice() != GuardChoice::mprotect && guard_by_madvise(base) && faults(base)) return GuardKind::madvise;
  if (guard_choice() == GuardChoice::madvise)
    throw StackError("WEFT_GUARD=madvise, but MADV_GUARD_INSTALL does not work here (Linux 6.13+, unlocked memory)");
  return GuardKind::mprotect;
}

void open_chunk(Pool& pool, unsigned shift) {
  pool.chunks.reserve(pool.chunks.size() + 1);
  Chunk chunk;
  chunk.base = map_chunk();
  try {
    chunk.guard = probe_guard(chunk.base);
  } catch (...) {
    sys::munmap(reinterpret_cast<void*>(chunk.base), chunk_bytes);
    throw;
  }
  sys::madvise(reinterpret_cast<void*>(chunk.base), chunk_bytes, MADV_NOHUGEPAGE);
  slot_shift_of[chunk.base >> chunk_shift] = static_cast<std::uint8_t>(shift);
  pool.chunks.push_back(chunk);
}

// Many guards by one call, where the kernel takes them (PIDFD_SELF, Linux 6.14): two thirds of the time each. False:
// some may be installed, which does no harm.
bool guard_all_by_madvise(const std::uintptr_t* bases, std::size_t count) {
  constexpr int self = -10000;  // PIDFD_SELF_PROCESS
  iovec ranges[most_carved];
  for (std::size_t i = 0; i < count; ++i) ranges[i] = {reinterpret_cast<void*>(bases[i]), guard_bytes};
  const long done = sys::invoke(SYS_process_madvise, self, reinterpret_cast<long>(ranges), static_cast<long>(count),
                                MADV_GUARD_INSTALL, 0);
  return done == static_cast<long>(count * guard_bytes);
}

// `kind`: what works in its chunk, as far as is known.
void install_guard(GuardKind& kind, std::uintptr_t base) {
  if (kind == GuardKind::madvise) {
    if (guard_by_madvise(base)) return;
    if (guard_choice() == GuardChoice::madvise)
      throw StackError("cannot guard another fiber stack: MADV_GUARD_INSTALL failed (out of memory, or locked pages?)");
    kind = GuardKind::mprotect;  // it worked for this chunk's first slot; mlockall came since, for instance
  }
  guard_by_mprotect(base);
}

// Slots of one chunk that are nobody's yet.
struct Raw {
  std::uintptr_t bases[most_carved];
  std::size_t count = 0;
  std::size_t guarded = 0;  // so many of the first
  Chunk chunk;
};

Chunk& chunk_of(Pool& pool, std::uintptr_t base) {
  return *std::find_if(pool.chunks.rbegin(), pool.chunks.rend(),
                       [base](const Chunk& chunk) { return chunk.base == (base & ~(chunk_bytes - 1)); });
}

// Under the lock. Those whose guard has failed before come first.
Raw take_raw(Pool& pool, unsigned shift) {
  Raw raw;
  if (!pool.unguarded.empty()) {
    raw.bases[raw.count++] = pool.unguarded.back();
    pool.unguarded.pop_back();
    raw.chunk = chunk_of(pool, raw.bases[0]);
    return raw;
  }
  const std::size_t slots = chunk_bytes >> shift;
  if (pool.chunks.empty() || pool.chunks.back().carved == slots) open_chunk(pool, shift);
  const std::size_t total = pool.chunks.size() * slots;
  for (auto* list : {&pool.free, &pool.unguarded})
    if (list->capacity() < total) list->reserve(std::max(total, 2 * list->capacity()));
  Chunk& chunk = pool.chunks.back();
  const std::size_t last = std::min(chunk.carved + std::max<std::size_t>(carve_bytes >> shift, 1), slots);
  while (chunk.carved < last) raw.bases[raw.count++] = chunk.base + (chunk.carved++ << shift);
  raw.chunk = chunk;
  return raw;
}

// Without the lock: two workers that need stacks install guards side by side. Throws at the first that fails.
void install_guards(Raw& raw) {
  if (raw.chunk.guard == GuardKind::madvise && raw.count > 1 && guard_all_by_madvise(raw.bases, raw.count)) {
    raw.guarded = raw.count;
    return;
  }
  for (; raw.guarded < raw.count; ++raw.guarded) install_guard(raw.chunk.guard, raw.bases[raw.guarded]);
}

// Under the lock. The first is left to whoever carved them.
void put_raw(Pool& pool, const Raw& raw) noexcept {
  chunk_of(pool, raw.bases[0]).guard = raw.chunk.guard;
  pool.unguarded.insert(pool.unguarded.end(), raw.bases + raw.guarded, raw.bases + raw.count);
  // Handed out from the back: lowest address first, so that neighbours in time are neighbours in memory.
  for (std::size_t i = raw.guarded; i > 1; --i) pool.free.push_back(raw.bases[i - 1]);
}

// A new one. Another few are made ready with it. If a guard fails, the slots before are kept, and it throws if there
// are none.
Slot carve(Pool& pool, unsigned shift) {
  Raw raw;
  {
    const std::lock_guard guard(pool.lock);
    raw = take_raw(pool, shift);
  }
  std::exception_ptr failure;
  try {
    install_guards(raw);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard guard(pool.lock);
    put_raw(pool, raw);
  }
  if (raw.guarded == 0) std::rethrow_exception(failure);
  return {raw.bases[0], shift};
}

void discard(std::uintptr_t from, std::uintptr_t to) {
  if (to > from) sys::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

bool too_many(const Pool& pool) {
  return pool.free.size() - pool.clean >= keep_hot + trim_at_once;
}

// Those that nobody has used for longest give their pages back: under the lock, since they may be handed out again.
// Neighbours, which most are that were made together, by one call.
void trim_coldest(Pool& pool, unsigned shift) noexcept {
  std::uintptr_t bases[trim_at_once];
  std::copy_n(pool.free.begin() + static_cast<std::ptrdiff_t>(pool.clean), trim_at_once, bases);
  std::sort(std::begin(bases), std::end(bases));
  const std::uintptr_t size = std::uintptr_t{1} << shift;
  for (std::size_t i = 0; i < trim_at_once;) {
    const std::uintptr_t from = bases[i];
    std::uintptr_t to = from;
    for (; i < trim_at_once && bases[i] == to; ++i) to += size;
    discard(from, to);  // guards stay
  }
  pool.clean += trim_at_once;
  pool.trimmed += trim_at_once;
}

// What was not taken while it was watched, but for the hot ones. The lock is let go between two batches.
std::int64_t trim_cold(Pool& pool, unsigned shift, std::int64_t now) noexcept {
  for (;;) {
    const std::lock_guard guard(pool.lock);
    if (!too_many(pool)) {
      pool.watched_since = 0;
      return seam::no_deadline;
    }
    if (pool.watched_since == 0) {
      pool.watched_since = now;
      pool.unused = pool.free.size();
    }
    if (now < pool.watched_since + cold_after_ns) return pool.watched_since + cold_after_ns;
    if (pool.unused < pool.clean + keep_hot + trim_at_once) {
      pool.watched_since = now;
      pool.unused = pool.free.size();
      return now + cold_after_ns;
    }
    trim_coldest(pool, shift);
  }
}

}  // namespace

unsigned shift_for(std::size_t usable) {
  if (usable == 0) usable = default_stack_size();
  demand_size(usable, "");
  const std::size_t need = usable + slot_overhead;
  return std::max(static_cast<unsigned>(std::bit_width(need - 1)), min_slot_shift);
}

Slot pool_allocate(unsigned shift) {
  Pool& pool = pool_of(shift);
  {
    const std::lock_guard guard(pool.lock);
    if (!pool.free.empty()) {
      const Slot slot{pool.free.back(), shift};
      pool.free.pop_back();
      pool.clean = std::min(pool.clean, pool.free.size());
      pool.unused = std::min(pool.unused, pool.free.size());
      return slot;
    }
  }
  return carve(pool, shift);
}

void pool_release(const Slot* slots, std::size_t count) noexcept {
  if (count == 0) return;
  const unsigned shift = slots[0].shift;
  Pool& pool = pool_of(shift);
  const std::lock_guard guard(pool.lock);
  for (std::size_t i = 0; i < count; ++i) pool.free.push_back(slots[i].base);  // room was reserved by carve
  if (!too_many(pool)) return;
  if (keepers.load(std::memory_order_relaxed) != 0) {
    trim_wanted.store(true, std::memory_order_relaxed);
    return;
  }
  while (too_many(pool)) trim_coldest(pool, shift);
}

void begin_keeping_stacks() noexcept {
  keepers.fetch_add(1, std::memory_order_relaxed);
}

void end_keeping_stacks() noexcept {
  keepers.fetch_sub(1, std::memory_order_relaxed);
}

std::int64_t trim_cold_stacks(std::int64_t now) noexcept {
  if (!trim_wanted.load(std::memory_order_relaxed)) return seam::no_deadline;
  trim_wanted.store(false, std::memory_order_relaxed);
  std::int64_t next = seam::no_deadline;
  for (unsigned shift = min_slot_shift; shift <= max_slot_shift; ++shift)
    next = std::min(next, trim_cold(pool_of(shift), shift, now));
  if (next != seam::no_deadline) trim_wanted.store(true, std::memory_order_relaxed);
  return next;
}

void trim_stacks() noexcept {
  for (unsigned shift = min_slot_shift; shift <= max_slot_shift; ++shift) {
    Pool& pool = pool_of(shift);
    const std::lock_guard guard(pool.lock);
    for (const std::uintptr_t base : pool.free) {
      const Slot slot{base, shift};
      discard(slot.floor(), base + (std::uintptr_t{1} << shift));
    }
    pool.trimmed += pool.free.size();
    pool.clean = pool.free.size();
    pool.watched_since = 0;
  }
}

StackStats stack_stats() noexcept {
  StackStats stats;
  for (unsigned shift = min_slot_shift; shift <= max_slot_shift; ++shift) {
    Pool& pool = pool_of(shift);
    const std::lock_guard guard(pool.lock);
    stats.free += pool.free.size();
    stats.chunks += pool.chunks.size();
    stats.trimmed += pool.trimmed;
    for (const Chunk& chunk : pool.chunks) {
      stats.slots += chunk.carved;
      stats.guard = chunk.guard;
    }
  }
  return stats;
}

void for_each_slot(void (*visit)(Slot slot, void* context), void* context) {
  for (unsigned shift = min_slot_shift; shift <= max_slot_shift; ++shift) {
    Pool& pool = pool_of(shift);
    std::vector<Chunk> chunks;
    {
      const std::lock_guard guard(pool.lock);
      chunks = pool.chunks;
    }
    for (const Chunk& chunk : chunks)
      for (std::size_t i = 0; i < chunk.carved; ++i) visit(Slot{chunk.base + (i << shift), shift}, context);
  }
}

std::size_t parse_size(const char* text, const char* what) {
  const auto bad = [&]() -> StackError {
    return StackError(std::string(what) + "=" + text + ": expected a size in bytes such as 131072, 128K or 1M");
  };
  const char* end = text + std::strlen(text);
  std::size_t number = 0;
  auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc{} || rest == text) throw bad();
  unsigned scale = 0;
  if (rest != end) {
    if (*rest == 'K' || *rest == 'k') scale = 10;
    if (*rest == 'M' || *rest == 'm') scale = 20;
    if (*rest == 'G' || *rest == 'g') scale = 30;
    if (scale == 0 || rest + 1 != end) throw bad();
  }
  if (number == 0 || number > (std::size_t{1} << 40) >> scale) throw bad();
  return number << scale;
}

std::size_t default_stack_size() {
  static const std::size_t size = [] {
    const char* text = std::getenv("WEFT_STACK_SIZE");
#ifdef WEFT_DEFAULT_STACK_SIZE
    constexpr std::size_t built_in = WEFT_DEFAULT_STACK_SIZE;
#else
    constexpr std::size_t built_in = std::size_t{128} << 10;
#endif
    if (text == nullptr || *text == '\0') return built_in;
    const std::size_t asked = parse_size(text, "WEFT_STACK_SIZE");
    demand_size(asked, std::string("WEFT_STACK_SIZE=") + text + ": ");
    return asked;
  }();
  return size;
}

}  // namespace weft::inline v0::detail

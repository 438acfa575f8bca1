// SPDX-License-Identifier: MIT
// Runs out of something while it makes fibers, checks that it was told and that nothing was lost, and says "ok" - or
// "not here" where the machine (an emulator, a sanitizer's address space) does not set such limits.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys.hpp"
#include "fiber/guard.hpp"
#include "weft/detail/tools.hpp"
#include "weft/fiber.hpp"

using namespace weft;

namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::printf("failed: %s\n", why.c_str());
  std::fflush(stdout);
  _exit(1);
}

void demand(bool condition, const char* what) {
  if (!condition) give_up(what);
}

Fiber small_one(std::size_t size = 0) {
  return Fiber([] { return yield(1).as<int>() + 1; }, "y", {.stack_size = size});
}

void demand_all_alive(std::vector<Fiber>& fibers) {
  for (std::size_t i = 0; i < fibers.size(); ++i)
    if (fibers[i].resume(static_cast<int>(i)).value.as<int>() != static_cast<int>(i) + 1)
      give_up("a fiber lost its value");
}

// Fills `fibers` until one is refused; false if `most` fit.
bool fill(std::vector<Fiber>& fibers, std::size_t most, std::size_t size, std::string& refused) {
  try {
    while (fibers.size() < most) {
      fibers.push_back(small_one(size));
      fibers.back().resume();
    }
  } catch (const StackError& error) {
    refused = error.what();
    return true;
  }
  return false;
}

long mapped_bytes() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) give_up("no /proc/self/statm");
  std::fclose(file);
  return pages * 4096;
}

int address_space() {
  small_one();
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(mapped_bytes()) + (rlim_t{512} << 20);
  if (setrlimit(RLIMIT_AS, &tight) != 0) return std::puts("not here"), 0;
  std::vector<Fiber> fibers;
  fibers.reserve(100000);
  std::string refused;
  if (!fill(fibers, 20000, 0, refused)) return std::puts("not here"), 0;
  demand(refused.find("cannot map 64 MiB of address space") != std::string::npos, refused.c_str());
  demand(refused.find("RLIMIT_AS") != std::string::npos, refused.c_str());
  demand(fibers.size() > 500, "refused far too early");
  const std::size_t alive = fibers.size();
  demand_all_alive(fibers);
  fibers.resize(alive / 2);  // what is freed can be had again
  demand(!fill(fibers, alive, 0, refused), "freed stacks were not used again");
  setrlimit(RLIMIT_AS, &before);
  demand(!fill(fibers, alive + 1000, 0, refused), "memory is back, but fibers are still refused");
  return std::puts("ok"), 0;
}

// Uses up the process's memory mappings, so that the limit is near.
void take_mappings(long leave) {
  long limit = 65530;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
    if (std::fscanf(file, "%ld", &limit) != 1) limit = 65530;
    std::fclose(file);
  }
  if (limit > 100000) std::puts("not here"), std::exit(0);
  constexpr std::size_t page = 4096;
  const auto pages = static_cast<std::size_t>(limit - leave);
  char* block =
      static_cast<char*>(mmap(nullptr, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (block == MAP_FAILED) std::puts("not here"), std::exit(0);
  for (std::size_t i = 0; i < pages; i += 2)
    if (mprotect(block + i * page, page, PROT_READ) != 0) break;
}

int mappings() {
  take_mappings(4000);
  std::vector<Fiber> fibers;
  fibers.reserve(10000);
  std::string refused;
  if (!fill(fibers, 10000, 0, refused)) return std::puts("not here"), 0;
  demand(
      refused.find("cannot guard another fiber stack: mprotect says ") == 0 || refused.find("cannot map 64 MiB") == 0,
      refused.c_str());
  demand(refused.find("vm.max_map_count") != std::string::npos, refused.c_str());
  demand(fibers.size() > 100, "refused far too early");
  for (const Fiber& fiber : fibers) demand(weft_test::guarded(fiber.core()->slot), "no guard");
  demand_all_alive(fibers);
  std::string again;
  const std::size_t alive = fibers.size();
  fibers.resize(alive - 50);
  demand(!fill(fibers, alive, 0, again), "freed stacks were not used again");
  demand(fill(fibers, alive + 1000, 0, again), "the limit went away");
  fibers.clear();
  demand(!fill(fibers, alive, 0, again), "nothing left after a refusal");
  return std::puts("ok"), 0;
}

// Fails the n-th call of mmap, madvise or mprotect.
struct Fault {
  long countdown = -1;
  long calls = 0;
  bool fired = false;
};

bool inject(const detail::sys::Call& call, long* result, void* context) {
  if (call.number != SYS_mmap && call.number != SYS_madvise && call.number != SYS_mprotect &&
      call.number != SYS_process_madvise)
    return false;
  auto* fault = static_cast<Fault*>(context);
  ++fault->calls;
  if (fault->countdown < 0 || fault->countdown-- != 0) return false;
  fault->fired = true;
  *result = -ENOMEM;
  return true;
}

// In a child process of its own: makes `count` fibers while call number n fails, then the rest without.
int with_fault(long n, std::size_t count, std::size_t size, long* calls) {
  Fault fault;
  fault.countdown = n;
  detail::sys::set_interceptor(inject, &fault);
  std::vector<Fiber> fibers;
  fibers.reserve(count);
  std::string refused;
  const bool was_refused = fill(fibers, count, size, refused);
  if (was_refused) {
    demand(fault.fired, "refused without a fault");
    demand(!refused.empty(), "an error without words");
    demand(!fill(fibers, count, size, refused), "one fault, two refusals");
  }
  detail::sys::set_interceptor(nullptr, nullptr);
  if (calls != nullptr) *calls = fault.calls;
  demand(fibers.size() == count, "not all were made");
  demand_all_alive(fibers);
  // Every guard works: the kernel itself cannot read it.
  for (const Fiber& fiber : fibers) {
    demand(weft_test::guarded(fiber.core()->slot), "no guard");
  }
  const std::size_t slots = detail::stack_stats().slots;
  fibers.clear();
  demand(!fill(fibers, count, size, refused), "refused without a fault, later");
  demand(detail::stack_stats().slots == slots, "a stack was lost");
  return 0;
}

int faults(std::size_t count, std::size_t size, long step) {
  long calls = 0;
  // A dry run in a child tells how many calls there are; each fault has a process, and thus a pool, of its own.
  int ends[2];
  if (pipe(ends) != 0) give_up("pipe");
  for (long n = -1; n < (n < 0 ? 1 : calls); n = n < 16 ? n + 1 : n + step) {
    const pid_t child = fork();
    if (child == 0) {
      long mine = 0;
      const int code = with_fault(n, count, size, &mine);
      if (n == -1 && write(ends[1], &mine, sizeof mine) != static_cast<ssize_t>(sizeof mine)) _exit(1);
      std::fflush(stdout);
      _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) give_up("with call " + std::to_string(n) + " failing");
    if (n == -1 && read(ends[0], &calls, sizeof calls) != static_cast<ssize_t>(sizeof calls)) give_up("read");
    if (n == -1) demand(calls > 6, "no calls to fail");  // 300 guards by madvise: a call for each 64 of them
  }
  return std::puts("ok"), 0;
}

// Touches guards in child processes; each must die.
int guards() {
  std::vector<Fiber> fibers;
  for (int i = 0; i < 40; ++i) fibers.push_back(small_one(std::size_t{16384} << (i % 12)));
  for (std::size_t i = 0; i < fibers.size(); i += 3) {
    const detail::Slot slot = fibers[i].core()->slot;
    for (const std::uintptr_t at : {slot.base, slot.base + detail::guard_bytes / 2, slot.floor() - 1}) {
      const pid_t child = fork();
      if (child == 0) {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
        *reinterpret_cast<volatile char*>(at) = 1;
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      demand(WIFSIGNALED(status), "a guard let a write through");
    }
    const pid_t child = fork();
    if (child == 0) {
      *reinterpret_cast<volatile char*>(slot.floor()) = 1;
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    demand(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the lowest usable byte is guarded");
  }
  return std::puts("ok"), 0;
}

// The guard installs, then memory is locked, then more stacks are wanted.
int locked() {
  std::vector<Fiber> fibers;
  fibers.push_back(small_one());
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return std::puts("not here"), 0;
  for (int i = 0; i < 80; ++i) {
    fibers.push_back(small_one());
    demand(weft_test::guarded(fibers.back().core()->slot), "no guard");
  }
  return std::puts("ok"), 0;
}

// Sanitizers need the address space, and more mappings than there are, for themselves.
constexpr bool sanitized = WEFT_ASAN || WEFT_TSAN;

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const long step = argc > 2 ? std::atol(argv[2]) : 1;
  if (sanitized && (what == "address-space" || what == "mappings")) return std::puts("not here"), 0;
  if (what == "address-space") return address_space();
  if (what == "mappings") return mappings();
  if (what == "faults") return faults(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1000, 0, step);
  if (what == "faults-large") return faults(40, std::size_t{10} << 20, step);
  if (what == "guards") return guards();
  if (what == "locked") return locked();
  return 2;
}

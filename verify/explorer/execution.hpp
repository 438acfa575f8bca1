// SPDX-License-Identifier: MIT
#pragma once
// What: one run of a scenario under one strategy. Logical threads are coroutines on this OS thread; each stops before
//   each seam operation, and the strategy says which of them goes on.
// Invariants:
//   [EXE-1] A thread is offered only if its pending operation can complete: lock free, joined thread finished, futex
//           sleeper woken. Nobody offered and somebody unfinished is a deadlock.
//   [EXE-2] A thread that paused is offered again only if somebody else changed a value since its look around began; if
//           nobody else can go on, paused threads go round in turn. So waiting loops do not make the search infinite
//           (and an unfair run of the spinner alone is not explored: fairness is assumed).
//   [EXE-3] A failed execution is abandoned where it stands: no thread is unwound, since noexcept code is under test.
// Memory: values live in the real atomics, so memory is sequentially consistent, except that with delays a store may
//   stay in its thread's FIFO buffer until flushed (x86-TSO). Drained by read-modify-writes, seq_cst stores, seq_cst
//   fences, locks, futex calls and thread start; light_fence() drains nothing and heavy_fence() drains every thread's
//   buffer, as with membarrier. Vector clocks follow the memory orders as written and check Plain<T> against them.
//   Stale loads (as on aarch64) have their place here: a load would choose among the stores not yet overwritten for it.
// Threads: one execution at a time per process.

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "explorer/clock_vector.hpp"
#include "explorer/coroutine.hpp"
#include "explorer/hook.hpp"
#include "explorer/strategy.hpp"
#include "explorer/trace.hpp"
#include "explorer/world.hpp"

namespace weft::inline v0::verify {

enum class Verdict : std::uint8_t {
  passed,
  assertion,
  race,
  deadlock,
  livelock,
  exception,
  misuse,
  crash,
  nondeterministic,
  replay_diverged,
};
std::string_view to_string(Verdict verdict);

using Scenario = std::function<void(World&)>;

struct ExecutionLimits {
  std::size_t steps = 5'000;
  int delays = 0;
  bool spurious = false;
  bool asymmetric = false;  // fences as with membarrier
  std::uint64_t seed = 1;
};

class Execution {
 public:
  explicit Execution(ExecutionLimits limits) : limits_(limits) { main_.adopt_this_thread(); }
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void run(const Scenario& scenario, Strategy& strategy);

  Verdict verdict() const { return verdict_; }
  const std::string& message() const { return message_; }
  const std::vector<Action>& actions() const { return actions_; }
  const std::vector<Event>& events() const { return events_; }
  std::string describe() const;                    // all steps, one line each
  std::string describe(const Event& event) const;  // without the thread's name
  const std::string& thread_name(std::size_t thread) const { return threads_[thread]->name; }

  // From the hooks.
  void point(const hook::Access& access);
  void done(std::uint64_t before, std::uint64_t after, bool wrote, std::memory_order order);
  void created(const void* object);
  bool store_delayed();
  void buffer_store(void* object, const void* bytes, std::size_t size, hook::WriteBack write);
  bool pending_store(const void* object, void* bytes, std::size_t size) const;
  bool cas_fails_spuriously() const { return current_->variant == Variant::spurious; }
  hook::Wake futex_sleep(const void* word, std::int64_t deadline);
  int futex_wake(const void* word, int count);
  std::int64_t now() const { return now_; }
  void advance(std::int64_t ns) { now_ += ns; }
  std::uint64_t seed() const { return limits_.seed; }
  int start_thread(const char* name, std::move_only_function<void()> body);
  void join_thread(int thread);
  void plain_access(const void* object, bool write);
  // Never returns when called in a logical thread.
  void fail(Verdict verdict, std::string message);
  void crash(const char* signal);
  bool in_thread() const { return current_ != nullptr; }

 private:
  // Upper half of a shown word that stands for a place in a named object.
  static constexpr std::uint64_t named_word = 0xADD0'0000'0000'0000U;
  static constexpr std::uint64_t named_word_mask = 0xFFFF'0000'0000'0000U;
  static constexpr bool waits_politely(hook::Op op) {
    return op == hook::Op::pause || op == hook::Op::yield || op == hook::Op::sleep;
  }

  struct BufferedStore {
    void* object;
    std::array<std::byte, 8> bytes;
    std::size_t size;
    hook::WriteBack write;
    ClockVector release;
  };
  struct LogicalThread {
    std::size_t id = 0;
    std::string name;
    std::move_only_function<void()> body;
    Coroutine coroutine;
    hook::Access pending;
    Variant variant = Variant::run;
    bool finished = false;
    bool paused = false;       // its pending operation is a polite wait [EXE-2]
    std::uint64_t looked = 0;  // changes by others when its present look around began
    std::uint64_t own_changes = 0;
    bool sleeping = false;  // in futex_sleep, not yet woken
    std::int64_t deadline = 0;
    std::size_t sleep_order = 0;
    ClockVector clock;
    ClockVector acquirable;  // what relaxed loads saw, for an acquire fence
    ClockVector released;    // at the last release fence
    std::deque<BufferedStore> buffer;
  };
  struct Location {
    const void* address = nullptr;
    ClockVector release;
    int owner = -1;  // of a lock
    // Plain<T> only:
    int writer = -1;
    std::uint32_t written = 0;
    std::size_t write_step = 0;
    ClockVector reads;
  };

  void reset();
  void give_up_threads();
  LogicalThread& add_thread(std::string name, std::move_only_function<void()> body);
  static void enter(void* thread);
  void finish_current();
  void schedule(Coroutine& from);
  void build_menu();
  bool runnable(const LogicalThread& thread) const;
  bool awaited(const LogicalThread& thread) const;
  bool news_for(const LogicalThread& thread) const;
  void changed(LogicalThread& by);
  void take(const Action& action);
  void perform(const Action& action);
  void run_finals(World& world);
  void drain(LogicalThread& thread);
  void flush_one(LogicalThread& thread);
  std::size_t locate(const void* address);
  std::uint64_t shown(std::uint64_t bits, bool pointer);
  std::string name_of(std::int32_t label) const;
  std::string value_text(std::uint64_t value, bool pointer) const;
  std::string waits_for(const LogicalThread& thread) const;
  std::string report_deadlock() const;
  [[noreturn]] void abandon();

  const ExecutionLimits limits_;
  std::vector<std::unique_ptr<LogicalThread>> threads_;  // reused, the first live_ are of this run
  std::size_t live_ = 0;
  Coroutine main_;
  Strategy* strategy_ = nullptr;
  LogicalThread* current_ = nullptr;
  bool starting_ = false;  // threads run up to their first point, in order, without choices
  bool solo_ = false;      // only `finally` runs
  std::size_t solo_steps_ = 0;
  std::int64_t now_ = 0;
  std::size_t sleeps_ = 0;
  std::uint64_t changes_ = 0;  // of values, by anybody
  std::vector<Option> menu_;
  std::vector<Action> actions_;
  std::vector<Event> events_;
  std::vector<Location> locations_;
  std::unordered_map<const void*, std::size_t> location_of_;
  std::vector<World::Name> names_;
  Verdict verdict_ = Verdict::passed;
  std::string message_;
};

// A signal handler found the running logical thread guilty. Does not return while an execution runs.
void crashed(const char* signal);

}  // namespace weft::inline v0::verify

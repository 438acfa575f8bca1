// SPDX-License-Identifier: MIT
#include "explorer/execution.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::verify {

namespace hook {
bool running = false;
}

namespace {

using hook::Access;
using hook::Op;

Execution* active = nullptr;

// A broken assertion of the code under test is a failure of the scenario.
void assertion_broke(const char* text, const char* condition, const char*, int) {
  if (active != nullptr) fail(std::string("assertion: ") + text + " (" + condition + ")");
}

// Never destroyed: the objects of a failed execution may be in any state [EXE-3].
std::vector<std::unique_ptr<World>>& abandoned_worlds = *new std::vector<std::unique_ptr<World>>;

// The explorer's own code at work inside a hook.
class Inside {
 public:
  Inside() { hook::running = false; }
  ~Inside() { hook::running = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

struct CheckFailed {};

constexpr bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_consume ||
         order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
}  // namespace

Execution::~Execution() {
  give_up_threads();
}

// After a failure their stacks are in use for ever [EXE-3].
void Execution::give_up_threads() {
  if (verdict_ == Verdict::passed) return;
  static auto& abandoned = *new std::vector<std::unique_ptr<LogicalThread>>;
  for (auto& thread : threads_) abandoned.push_back(std::move(thread));
  threads_.clear();
}

void Execution::reset() {
  give_up_threads();
  live_ = 0;
  current_ = nullptr;
  now_ = 1'000'000'000;
  solo_ = false;
  sleeps_ = 0;
  changes_ = 0;
  actions_.clear();
  events_.clear();
  locations_.clear();
  location_of_.clear();
  names_.clear();
  verdict_ = Verdict::passed;
  message_.clear();
}

Execution::LogicalThread& Execution::add_thread(std::string name, std::move_only_function<void()> body) {
  if (live_ == max_threads) {
    std::fputs("explorer: too many logical threads in one scenario\n", stderr);
    std::abort();
  }
  if (live_ == threads_.size()) threads_.push_back(std::make_unique<LogicalThread>());
  LogicalThread& thread = *threads_[live_];
  thread.id = live_++;
  thread.name = std::move(name);
  thread.body = std::move(body);
  thread.pending = {};
  thread.variant = Variant::run;
  thread.finished = thread.paused = thread.sleeping = false;
  thread.looked = thread.own_changes = 0;
  thread.clock.clear();
  thread.clock.tick(thread.id);
  thread.acquirable.clear();
  thread.released.clear();
  thread.buffer.clear();
  thread.coroutine.prepare(&Execution::enter, &thread);
  return thread;
}

void Execution::run(const Scenario& scenario, Strategy& strategy) {
  reset();
  strategy_ = &strategy;
  Execution* const outer = std::exchange(active, this);
  const auto outer_hook = detail::set_assert_hook(&assertion_broke);
  auto world = std::make_unique<World>();
  try {
    scenario(*world);
    names_ = world->names_;
    for (auto& body : world->threads_) add_thread(std::move(body.name), std::move(body.run));
    starting_ = true;
    for (std::size_t i = 0; i < live_ && verdict_ == Verdict::passed; ++i) {
      current_ = threads_[i].get();
      Coroutine::switch_to(main_, current_->coroutine);
    }
    starting_ = false;
    current_ = nullptr;
    if (verdict_ == Verdict::passed) schedule(main_);
    current_ = nullptr;
    if (verdict_ == Verdict::passed && !world->finals_.empty()) run_finals(*world);
  } catch (const CheckFailed&) {
  } catch (const std::exception& error) {
    current_ = nullptr;
    fail(Verdict::exception, std::string("the set-up threw: ") + error.what());
  }
  current_ = nullptr;
  for (auto& undo : world->undos_) undo();
  if (verdict_ == Verdict::passed) {
    for (std::size_t i = 0; i < live_; ++i) threads_[i]->body = nullptr;
  } else {
    abandoned_worlds.push_back(std::move(world));
  }
  detail::set_assert_hook(outer_hook);
  active = outer;
}

// In a logical thread of their own, so that they can fail, loop or block like the others, yet without choices.
void Execution::run_finals(World& world) {
  LogicalThread& thread = add_thread("finally", [&world] {
    for (auto& final : world.finals_) final();
  });
  for (std::size_t i = 0; i < thread.id; ++i) thread.clock.join(threads_[i]->clock);
  solo_ = true;
  solo_steps_ = 0;
  current_ = &thread;
  Coroutine::switch_to(main_, thread.coroutine);
  current_ = nullptr;
  solo_ = false;
}

void Execution::enter(void* argument) {
  auto* thread = static_cast<LogicalThread*>(argument);
  std::string escaped;
  hook::running = true;
  try {
    thread->body();
  } catch (const std::exception& error) {
    escaped = error.what();
  } catch (...) {
    escaped = "something that is no std::exception";
  }
  hook::running = false;
  if (!escaped.empty()) active->fail(Verdict::exception, thread->name + " let an exception out: " + escaped);
  active->finish_current();
}

void Execution::finish_current() {
  LogicalThread& self = *current_;
  self.finished = true;
  changed(self);
  if (starting_ || solo_) {
    Coroutine::switch_to(self.coroutine, main_);
  } else {
    schedule(self.coroutine);
  }
  std::abort();  // a finished thread is never chosen
}

void Execution::abandon() {
  hook::running = false;
  Coroutine::switch_to(current_->coroutine, main_);
  std::abort();
}

void Execution::fail(Verdict verdict, std::string message) {
  verdict_ = verdict;
  message_ = std::move(message);
  if (current_ != nullptr) abandon();
}

void Execution::crash(const char* signal) {
  if (current_ != nullptr) fail(Verdict::crash, current_->name + " crashed: " + signal);
}

void Execution::changed(LogicalThread& by) {
  ++changes_;
  ++by.own_changes;
}

void Execution::flush_one(LogicalThread& thread) {
  changed(thread);
  BufferedStore& store = thread.buffer.front();
  store.write(store.object, store.bytes.data());
  Location& location = locations_[locate(store.object)];
  location.release = store.release;
  Event event;
  event.action = {static_cast<std::uint8_t>(thread.id), Variant::flush};
  event.object = static_cast<std::int32_t>(locate(store.object));
  events_.push_back(event);
  thread.buffer.pop_front();
}

void Execution::drain(LogicalThread& thread) {
  while (!thread.buffer.empty()) flush_one(thread);
}

std::size_t Execution::locate(const void* address) {
  const auto [entry, is_new] = location_of_.try_emplace(address, locations_.size());
  if (is_new) {
    locations_.emplace_back();
    locations_.back().address = address;
  }
  return entry->second;
}

void Execution::created(const void* object) {
  if (const auto entry = location_of_.find(object); entry != location_of_.end()) {
    Location fresh;
    fresh.address = object;
    locations_[entry->second] = fresh;
  }
}

void Execution::point(const Access& access) {
  LogicalThread& self = *current_;
  self.pending = access;
  self.paused = waits_politely(access.op);
  if (solo_) {
    if (!runnable(self)) fail(Verdict::deadlock, "nobody is left, and finally " + waits_for(self));
    if (++solo_steps_ > limits_.steps) fail(Verdict::livelock, "finally does not end");
    perform({static_cast<std::uint8_t>(self.id), Variant::run});
  } else if (starting_) {
    Coroutine::switch_to(self.coroutine, main_);
  } else {
    schedule(self.coroutine);
  }
}

// A value as it goes into the trace. Addresses differ from run to run, so a pointer becomes a label, and a word that
// points into a named object (with tag bits perhaps) the object's number and the offset.
std::uint64_t Execution::shown(std::uint64_t bits, bool pointer) {
  if (pointer) return bits == 0 ? 0 : locate(reinterpret_cast<const void*>(bits)) + 1;
  if (bits >> 32U == 0) return bits;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto offset = bits - reinterpret_cast<std::uintptr_t>(names_[i].begin);
    if (offset < names_[i].size) return named_word | (i << 32U) | offset;
  }
  return bits;
}

void Execution::done(std::uint64_t before, std::uint64_t after, bool wrote, std::memory_order order) {
  LogicalThread& self = *current_;
  const Access& access = self.pending;
  if ((wrote && before != after && !store_delayed()) || (access.op == Op::futex_wake && after != 0)) changed(self);
  {
    const std::uint64_t shown_before = shown(before, access.pointer);
    const std::uint64_t shown_after = shown(after, access.pointer);
    Event& event = events_.back();
    event.before = shown_before;
    event.after = shown_after;
    event.wrote = wrote;
    event.order = order;
  }
  switch (access.op) {
    case Op::fence:
    case Op::light_fence:
    case Op::heavy_fence:
      if (acquires(order)) self.clock.join(self.acquirable);
      if (releases(order)) self.released = self.clock;
      break;
    case Op::pause:
    case Op::yield:
    case Op::sleep:
    case Op::futex_wait:
    case Op::futex_wake:
      break;
    case Op::store: {
      if (self.variant == Variant::delayed || !self.buffer.empty()) break;  // its clock waits in the buffer
      locations_[locate(access.object)].release = releases(order) ? self.clock : self.released;
      break;
    }
    default: {
      Location& location = locations_[locate(access.object)];
      if (access.op != Op::unlock) {
        (acquires(order) ? self.clock : self.acquirable).join(location.release);
      }
      if (wrote) location.release.join(releases(order) ? self.clock : self.released);
      if (wrote && (access.op == Op::lock || access.op == Op::try_lock)) location.owner = static_cast<int>(self.id);
      if (access.op == Op::unlock) {
        if (location.owner != static_cast<int>(self.id)) {
          const std::int32_t label = events_.back().object;
          fail(Verdict::misuse, self.name + " unlocks " + name_of(label) + ", which it does not hold");
        }
        location.owner = -1;
      }
      break;
    }
  }
  self.clock.tick(self.id);
}

bool Execution::store_delayed() {
  return current_->variant == Variant::delayed || !current_->buffer.empty();
}

void Execution::buffer_store(void* object, const void* bytes, std::size_t size, hook::WriteBack write) {
  LogicalThread& self = *current_;
  BufferedStore store{object, {}, size, write, releases(self.pending.order) ? self.clock : self.released};
  std::memcpy(store.bytes.data(), bytes, size);
  self.buffer.push_back(store);
}

bool Execution::pending_store(const void* object, void* bytes, std::size_t size) const {
  const auto& buffer = current_->buffer;
  for (auto store = buffer.rbegin(); store != buffer.rend(); ++store) {
    if (store->object != object) continue;
    std::memcpy(bytes, store->bytes.data(), size);
    return true;
  }
  return false;
}

hook::Wake Execution::futex_sleep(const void* word, std::int64_t deadline) {
  LogicalThread& self = *current_;
  self.sleeping = true;
  self.deadline = deadline;
  self.sleep_order = sleeps_++;
  point({Op::futex_sleep, word, std::memory_order_relaxed, false});
  const bool timed_out = self.variant == Variant::timeout;
  self.sleeping = false;
  return timed_out ? hook::Wake::timed_out : hook::Wake::woken;
}

int Execution::futex_wake(const void* word, int count) {
  int woken = 0;
  while (woken < count) {
    LogicalThread* oldest = nullptr;
    for (std::size_t i = 0; i < live_; ++i) {
      LogicalThread& thread = *threads_[i];
      if (!thread.sleeping || thread.pending.object != word) continue;
      if (oldest == nullptr || thread.sleep_order < oldest->sleep_order) oldest = &thread;
    }
    if (oldest == nullptr) break;
    oldest->sleeping = false;
    ++woken;
  }
  return woken;
}

int Execution::start_thread(const char* name, std::move_only_function<void()> body) {
  point({Op::start, nullptr, std::memory_order_release, false});
  LogicalThread& self = *current_;
  LogicalThread& thread = add_thread(name, std::move(body));
  thread.clock.join(self.clock);
  events_.back().after = thread.id;
  self.clock.tick(self.id);
  return static_cast<int>(thread.id);
}

void Execution::join_thread(int thread) {
  LogicalThread& target = *threads_[static_cast<std::size_t>(thread)];
  point({Op::join, &target, std::memory_order_acquire, false});
  current_->clock.join(target.clock);
  current_->clock.tick(current_->id);
}

void Execution::plain_access(const void* object, bool write) {
  LogicalThread& self = *current_;
  Location& location = locations_[locate(object)];
  const auto conflict = [&](std::size_t other, const char* what) {
    fail(Verdict::race, self.name + (write ? " writes " : " reads ") +
                            name_of(static_cast<std::int32_t>(locate(object))) + ", which " + threads_[other]->name +
                            " " + what + " and nothing orders the two");
  };
  if (location.writer >= 0 && location.writer != static_cast<int>(self.id)) {
    const auto writer = static_cast<std::size_t>(location.writer);
    if (location.written > self.clock[writer]) conflict(writer, "wrote");
  }
  if (write) {
    for (std::size_t i = 0; i < live_; ++i) {
      if (i != self.id && location.reads[i] > self.clock[i]) conflict(i, "read");
    }
    location.writer = static_cast<int>(self.id);
    location.written = self.clock[self.id];
  } else {
    location.reads.set(self.id, self.clock[self.id]);
  }
}

void check(bool condition, const char* message) {
  if (!condition) fail(message);
}

void fail(std::string message) {
  if (active == nullptr) {
    std::fprintf(stderr, "explorer: check failed outside an exploration: %s\n", message.c_str());
    std::abort();
  }
  hook::running = false;
  active->fail(Verdict::assertion, std::move(message));
  throw CheckFailed{};
}

void crashed(const char* signal) {
  if (active == nullptr) return;
  hook::running = false;
  active->crash(signal);
}

namespace hook {

void point(const Access& access) noexcept {
  Inside inside;
  active->point(access);
}
void done(std::uint64_t before, std::uint64_t after, bool wrote, std::memory_order order) noexcept {
  Inside inside;
  active->done(before, after, wrote, order);
}
void created(const void* object) noexcept {
  Inside inside;
  active->created(object);
}
bool store_delayed() noexcept {
  return active->store_delayed();
}
void buffer_store(void* object, const void* bytes, std::size_t size, WriteBack write) noexcept {
  Inside inside;
  active->buffer_store(object, bytes, size, write);
}
bool pending_store(const void* object, void* bytes, std::size_t size) noexcept {
  return active->pending_store(object, bytes, size);
}
bool cas_fails_spuriously() noexcept {
  return active->cas_fails_spuriously();
}
Wake futex_sleep(const void* word, std::int64_t deadline) noexcept {
  Inside inside;
  return active->futex_sleep(word, deadline);
}
int futex_wake(const void* word, int count) noexcept {
  Inside inside;
  return active->futex_wake(word, count);
}
std::int64_t now() noexcept {
  return active->now();
}
void advance(std::int64_t ns) noexcept {
  active->advance(ns);
}
std::uint64_t seed() noexcept {
  return active->seed();
}
int start_thread(const char* name, std::move_only_function<void()> body) {
  Inside inside;
  return active->start_thread(name, std::move(body));
}
void join_thread(int thread) noexcept {
  Inside inside;
  active->join_thread(thread);
}
void plain_access(const void* object, bool write) noexcept {
  Inside inside;
  active->plain_access(object, write);
}

}  // namespace hook

}  // namespace weft::inline v0::verify

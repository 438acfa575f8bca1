// SPDX-License-Identifier: MIT
// What: one run: the director of a runtime whose every choice comes from a plan.
//
//   logical workers    `running_`, at most workers of them with the one that runs: begun, not parked, sent away at a
//                      point; a free one may take any of `able_`
//   time               moves when nobody is ready: to the next deadline of a task, or to what is under way in the world
//   phases             f runs -> f has ended: what is left is asked to stop -> over
//
// Invariants
//   [SIM-1] Candidate 0 is the usual choice: at a point whoever runs, else who was sent away first, else who has been
//           ready longest. A run of usual choices is fair.
//   [SIM-3] Time moves while somebody is ready only if everybody who is has done nothing but yield, a hundred times.
//   [SIM-2] Who cannot be made to stop is left where it is, and the runtime with it: `abandoned`.
// Threads: the one that drives.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sched/director.hpp"
#include "sim/choices.hpp"
#include "sim/disk.hpp"
#include "sim/network.hpp"
#include "sim/strategy.hpp"
#include "sim/trace.hpp"
#include "weft/detail/task_core.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {

class Universe final : public Director, public Fate {
 public:
  Universe(const ChoicePlan& plan, const sim::Options& options);
  ~Universe() override;

  // From the first instruction of f to the end of all it has started.
  void run(const std::function<void()>& f);
  sim::Report report() const;
  const SimTrace& trace() const { return trace_; }

  // Director
  Entry next(Worker& worker) override;
  bool leaves_at(TaskCore& task, const char* what) noexcept override;
  void at_suspension(TaskCore& task, const char* kind) noexcept override;
  IoResult submit(IoRequest& request) override;
  void woken_from_outside() noexcept override;

  // cancel_everywhere: at which suspension point f, or its victim, is asked to stop; 0: at none.
  void cancel_at(std::uint64_t point, bool victim_only) {
    cancel_at_ = point;
    victim_only_ = victim_only;
  }
  std::uint64_t cancel_points() const { return victim_used_ ? victim_points_ : suspensions_; }
  bool victim_used() const { return victim_used_; }
  const std::string& cancelled_where() const { return cancelled_where_; }
  bool run_victim(const std::function<void()>& f);

  // For what runs inside.
  void fail(sim::Failure failure, std::string text);
  bool fault(std::string_view name, double probability);
  std::uint64_t choose(std::uint64_t count);
  void note(std::string_view text) override { trace_.add(SimTrace::note, 0, 0, 0, text); }
  Network& network() { return network_; }
  Disk& disk_of(HostNumber host);
  HostNumber host_here();
  void hold(std::string_view name, std::int64_t by);
  std::uint64_t seed() const { return choices_.seed(); }

 private:
  struct Standing {
    Entry entry;
    std::uint32_t number = 0;
  };
  // A choice that was not the usual one, to be told.
  struct Told {
    ChoiceStream stream;
    std::uint64_t index;
    std::uint32_t left;   // who was interrupted, or would have gone on
    std::uint32_t taken;  // who goes on
    const char* what;     // where; null: the other one had left by itself
    std::string name;
  };
  struct Known {
    std::string name;
    const char* file = "";
    std::uint_least32_t line = 0;
  };

  // Fate
  std::int64_t now() const override;
  bool strikes(ChoiceStream stream, double probability, std::string_view what) override;
  std::int64_t between(ChoiceStream stream, std::int64_t low, std::int64_t high, std::string_view what) override;
  std::size_t part(ChoiceStream stream, double probability, std::size_t most, std::string_view what) override;

  template <class Draw>
  std::uint64_t take(ChoiceStream stream, std::uint64_t limit, std::string_view what, Draw&& draw);
  long perform(IoRequest& request);
  std::uint32_t number_of(const TaskCore& task);
  std::uint32_t number_of(Entry entry);
  std::string name_of(std::uint32_t number) const;
  void gather(Worker& worker);
  Standing take_candidate(std::size_t index);
  std::size_t decide(const Candidates& candidates, bool at_point);
  bool ended();
  bool move_time();
  void stuck();
  void look_for_leaks(std::uint64_t undelivered);
  void give_up_steps();
  void count_cancel(std::uint32_t number, const char* kind);
  void tell(ChoiceStream stream, std::uint32_t left, std::uint32_t taken, const char* what, std::string_view name = {});

  const sim::Options options_;
  Choices choices_;
  SimStrategy strategy_;
  SimTrace trace_;
  RuntimeCore* runtime_ = nullptr;
  TaskCore* main_ = nullptr;
  std::vector<Standing> running_;
  std::deque<Standing> able_;
  Standing decided_;
  std::uint64_t steps_ = 0;
  std::uint64_t suspensions_ = 0;
  std::uint64_t step_limit_;
  bool asked_ = false;  // f was asked to stop, by us
  bool main_over_ = false;
  bool abandoned_ = false;              // [SIM-2]
  seam::Atomic<bool> stranger_{false};  // another thread has woken somebody; set by it
  std::int64_t time_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by id; never walked
  std::vector<Known> known_;
  std::vector<Told> told_;
  std::map<std::string, std::int64_t, std::less<>> held_;
  std::uint64_t cancel_at_ = 0;
  std::uint64_t victim_points_ = 0;
  bool victim_only_ = false;
  bool victim_used_ = false;
  bool cancelled_ = false;  // by cancel_at
  ScopeCore* victim_ = nullptr;
  std::string cancelled_where_;
  unsigned yields_ = 0;  // one after the other, without anything else
  Agenda agenda_;
  SimDescriptors descriptors_;
  Network network_;
  std::map<HostNumber, std::unique_ptr<Disk>> disks_;
  sim::Failure failure_ = sim::Failure::none;
  std::string text_;
};

DynBinding host_binding(std::string_view name);

// Null: the caller runs in none.
Universe* universe_here() noexcept;

}  // namespace weft::inline v0::detail

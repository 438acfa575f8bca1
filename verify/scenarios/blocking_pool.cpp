// SPDX-License-Identifier: MIT
// The pool of threads for blocking calls [BLOCK-1..3]: threads that end while jobs come, idle threads that fall asleep
// while jobs come, jobs that need each other.
#include "sched/blocking_pool.hpp"

#include <array>
#include <chrono>

#include "explorer/registry.hpp"
#include "mutants.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using BlockingPool = detail::BlockingPool;
};

constexpr auto endless = std::chrono::nanoseconds(seam::no_deadline);

template <class Kit>
struct Note : Kit::BlockingPool::Job {
  using Job = typename Kit::BlockingPool::Job;
  Plain<int> runs{0};
  Note() {
    Job::run = [](Job* job) {
      Note& note = static_cast<Note&>(*job);
      note.runs.write(note.runs.read() + 1);
    };
  }
};

// [BLOCK-1] [BLOCK-2] The thread's patience ends whenever the schedule wants it to: before, between, after the jobs.
template <class Kit>
void ends_under_jobs(World& world) {
  auto& pool = world.make<typename Kit::BlockingPool>("pool", 1U, std::chrono::nanoseconds(1));
  auto& notes = world.make<std::array<Note<Kit>, 2>>("notes");
  world.thread("user", [&] {
    for (auto& note : notes) check(pool.submit(note), "refused");
    pool.stop();
    for (auto& note : notes) check(note.runs.read() == 1, "an accepted job did not run once");
  });
}

// Two users, two threads, nobody ends: each job gets its wake.
template <class Kit>
void two_users(World& world) {
  auto& pool = world.make<typename Kit::BlockingPool>("pool", 2U, endless);
  auto& done = world.make<seam::Atomic<std::uint32_t>>("done", 0U);
  struct Count : Kit::BlockingPool::Job {
    seam::Atomic<std::uint32_t>* done = nullptr;
  };
  auto& jobs = world.make<std::array<Count, 3>>("jobs");
  for (Count& job : jobs) {
    job.done = &done;
    job.run = [](typename Kit::BlockingPool::Job* one) {
      static_cast<Count*>(one)->done->fetch_add(1);
      seam::futex_wake(*static_cast<Count*>(one)->done, 1);
    };
  }
  world.thread("first", [&] {
    check(pool.submit(jobs[0]), "refused");
    check(pool.submit(jobs[1]), "refused");
  });
  world.thread("second", [&] {
    check(pool.submit(jobs[2]), "refused");
    for (std::uint32_t seen = 0; (seen = done.load()) != 3;) seam::futex_wait(done, seen, seam::no_deadline);
    pool.stop();
  });
}

// With room for two, a job that waits for the next one must not keep it from running.
template <class Kit>
void needs_the_next(World& world) {
  auto& pool = world.make<typename Kit::BlockingPool>("pool", 2U, endless);
  auto& said = world.make<seam::Atomic<std::uint32_t>>("said", 0U);
  struct Talk : Kit::BlockingPool::Job {
    seam::Atomic<std::uint32_t>* said = nullptr;
  };
  using Job = typename Kit::BlockingPool::Job;
  auto& jobs = world.make<std::array<Talk, 3>>("jobs");
  for (Talk& job : jobs) job.said = &said;
  jobs[0].run = [](Job*) {};
  jobs[1].run = [](Job* job) {
    auto& word = *static_cast<Talk*>(job)->said;
    while (word.load() == 0) seam::futex_wait(word, 0, seam::no_deadline);
  };
  jobs[2].run = [](Job* job) {
    auto& word = *static_cast<Talk*>(job)->said;
    word.store(1);
    seam::futex_wake(word, 1);
  };
  world.thread("user", [&] {
    for (Talk& job : jobs) check(pool.submit(job), "refused");
    pool.stop();
  });
}

const Register r1{{.name = "blocking pool: a thread that ends leaves no job behind", .run = ends_under_jobs<Real>}};
const Register r2{
    {.name = "blocking pool: two users, each job gets its wake", .run = two_users<Real>, .spurious = true}};
const Register r3{
    {.name = "blocking pool: a job that waits for the next one does not hold it up", .run = needs_the_next<Real>}};

const Register m1{{.name = "mutant: pool thread ends without looking again [BLOCK-1]",
                   .run = ends_under_jobs<mutants::pool_ends_without_second_look::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: pool wakes without ringing the bell",
                   .run = two_users<mutants::pool_wakes_without_bell::Kit>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: pool counts one idle thread for two jobs",
                   .run = needs_the_next<mutants::pool_counts_idle_twice::Kit>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: pool gives up queued jobs at stop [BLOCK-2]",
                   .run = ends_under_jobs<mutants::pool_drops_at_stop::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

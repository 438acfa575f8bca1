// SPDX-License-Identifier: MIT
// The number of a task against whoever asks for it: at once, and when the record is another task's already [TASK-5].
#include <array>
#include <cstdint>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_core.hpp"
#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using TaskId = detail::TaskId;
};

constexpr std::uint64_t never = 0;

// The runner settles it when the task stands out, and who asks offers a number of its own: one answer for all.
template <class Kit>
void asked_at_once(World& world) {
  auto& id = world.make<typename Kit::TaskId>("id");
  auto& first = world.make<Plain<std::uint64_t>>("told the first", never);
  auto& second = world.make<Plain<std::uint64_t>>("told the second", never);
  auto& third = world.make<Plain<std::uint64_t>>("told the runner", never);
  world.thread("first", [&] { first.write(id.offer(10)); });
  world.thread("second", [&] { second.write(id.offer(20)); });
  world.thread("runner", [&] {
    if (id.if_known() == 0) (void)id.offer(30);  // settle_by
    third.write(id.if_known());
  });
  world.finally([&] {
    check(first.read() == id.if_known() && second.read() == id.if_known() && third.read() == id.if_known(),
          "two numbers for one task");
  });
}
// The same by the runner's own way, with a number of its worker's.
void asked_at_once_really(World& world) {
  auto& worker = world.make<detail::WorkerCore>("worker");
  auto& id = world.make<detail::TaskId>("id");
  auto& asked = world.make<Plain<std::uint64_t>>("told who asks", never);
  auto& settled = world.make<Plain<std::uint64_t>>("told the runner", never);
  worker.next_id = 30, worker.end_id = 40;
  world.thread("asks", [&] { asked.write(id.offer(10)); });
  world.thread("runner", [&] {
    id.settle_by(&worker);
    settled.write(id);
  });
  world.finally([&] { check(asked.read() == settled.read() && asked.read() == id, "two numbers for one task"); });
}

// Three tasks, one after the other in one record. The first and the last stand out; the second is a call, unless
// somebody has asked for its number. Whoever asks does not know which of them it asks.
template <class Kit>
void asked_too_late(World& world) {
  auto& id = world.make<typename Kit::TaskId>("id");
  auto& asked = world.make<Plain<std::uint64_t>>("told who asks", never);
  auto& numbers = world.make<std::array<std::uint64_t, 3>>("numbers");
  world.thread("asks", [&] { asked.write(id.offer(100)); });
  world.thread("runs", [&] {
    for (std::size_t i = 0; i < 3; ++i) {
      std::uint64_t mine = i == 1 ? id.if_known() : id.offer(i + 1);
      for (int look = 0; look < 2; ++look) {
        const std::uint64_t now = id.if_known();
        check(mine == never || mine == now, "the number of a task that lives has changed");
        mine = now;
      }
      numbers[i] = mine;
      if (i != 1 || mine != never) id.forget();  // make_clean; of a call: left_nothing
    }
  });
  world.finally([&] {
    const std::uint64_t last = id.if_known();  // of the next
    check(last == never || last == 100, "a number is left behind");
    int told = last == 100 ? 1 : 0;
    for (std::size_t i = 0; i < 3; ++i) {
      check(numbers[i] == never || numbers[i] == i + 1 || numbers[i] == 100, "a number of another task's");
      told += numbers[i] == 100 || numbers[i] == asked.read() ? 1 : 0;
    }
    check(told == 1, "who asked was told of no task, or of two");
  });
}

const Register a{
    {.name = "task id: two ask at once, and the task itself", .run = asked_at_once<Real>, .preemptions = -1}};
const Register b{
    {.name = "task id: somebody asks while the task settles it", .run = asked_at_once_really, .preemptions = -1}};
const Register c{{.name = "task id: who asks too late numbers the next one [TASK-5]",
                  .run = asked_too_late<Real>,
                  .preemptions = -1}};

const Register m1{{.name = "mutant: task id is stored without an exchange",
                   .run = asked_at_once<mutants::task_id_by_store::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: task id changes while its task lives",
                   .run = asked_too_late<mutants::task_id_by_store::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: task id stays with the record",
                   .run = asked_too_late<mutants::task_id_kept::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
#include "sched/dump.hpp"

#include "base/sys.hpp"
#include "sched/records.hpp"
#include "weft/fiber.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {
namespace {

void print(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const long n = sys::write(2, text.data() + done, text.size() - done);
    if (sys::is_error(n)) return;
    done += static_cast<std::size_t>(n);
  }
}

struct Listing {
  std::string text;
  unsigned count = 0;
};

void list_task(TaskCore* task, void* context) {
  const TaskMoment now = task->word.look();
  if (now.state() == TaskState::free || now.state() >= TaskState::done || (task->flags & task_thread)) return;
  auto& listing = *static_cast<Listing*>(context);
  if (++listing.count > 20) return;
  std::string& text = listing.text;
  text += "  task " + std::to_string(task->id);
  if (task->name != nullptr) text += std::string(" \"") + task->name + "\"";
  text += std::string(" ") + to_string(now.state());
  text += std::string(", spawned at ") + task->site.file_name() + ":" + std::to_string(task->site.line()) + "\n";
}

}  // namespace

void report_refusers(const RuntimeCore&) {
  Listing listing;
  for_each_record(list_task, &listing);
  print("weft: shutdown: " + std::to_string(listing.count) + " tasks have not ended in time:\n" + listing.text);
}

}  // namespace weft::inline v0::detail

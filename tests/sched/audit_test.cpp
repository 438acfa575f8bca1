// SPDX-License-Identifier: MIT
// Who may call what, read from the sources: run queues and transitions have few doors.
#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++, in the code of std::regex, once sanitizers add branches
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "test_places.hpp"

namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;  // from the root
  std::string text;  // without comments
};

const std::vector<Source>& sources() {
  static const std::vector<Source> all = [] {
    std::vector<Source> found;
    const fs::path root = WEFT_TEST_SOURCE;
    const std::regex comment("//[^\n]*");
    for (const char* part : {"include", "src"})
      for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
        const std::string ending = entry.path().extension().string();
        if (ending != ".hpp" && ending != ".cpp") continue;
        std::ifstream file(entry.path());
        std::stringstream read;
        read << file.rdbuf();
        found.push_back({fs::relative(entry.path(), root).string(), std::regex_replace(read.str(), comment, "")});
      }
    return found;
  }();
  return all;
}

// The files whose code matches.
std::set<std::string> users_of(const std::string& pattern) {
  const std::regex wanted(pattern);
  std::set<std::string> files;
  for (const Source& source : sources())
    if (std::regex_search(source.text, wanted)) files.insert(source.path);
  return files;
}

bool is_public(const std::string& path) {
  return path.starts_with("include/weft/") && !path.starts_with("include/weft/detail/");
}

}  // namespace

TEST_CASE("audit: run queues are filled in the scheduler only, and by spawn and par at the deque [W-006] [W-036]") {
  REQUIRE(sources().size() > 50);
  const std::set<std::string> pushes =
      users_of(R"((ready|global|pinned|deque|inbox)(_)?(\.|->)(push|push_back|push_slot|append)\(|push_inbox\()");
  const std::set<std::string> allowed{
      "include/weft/detail/par_frame.hpp",    // puts back the job that it took from its own deque
      "include/weft/detail/worker_core.hpp",  // push_young: a spawn
      "src/sched/dispatch.cpp",               // make_ready, inject, launch, and a yielder
      "src/sched/late_push.hpp",              // the inbox, against a worker that ends
      "src/sched/in_place.cpp",               // puts back what is not its child
      "src/sched/search.cpp",                 // timers, and what was stolen
      "src/sched/strand.cpp",                 // the strand is what stands in the queue
      "src/sched/worker.hpp",
      "src/task/par.cpp",  // a fork
  };
  CHECK(!pushes.empty());
  for (const std::string& file : pushes) {
    INFO(file, " fills a run queue: use make_ready(), inject() or launch()");
    CHECK(allowed.count(file) == 1);
  }
  // Everybody else comes through one of these doors, which the scheduler has, once each.
  for (const char* door : {R"(void make_ready\(TaskCore\* task, WakeReason\) \{)",
                           R"(void inject\(RuntimeCore& runtime, Entry entry\) \{)"}) {
    CHECK(users_of(door) == std::set<std::string>{"src/sched/dispatch.cpp"});
  }
}

TEST_CASE("audit: a program has no way to publish a wait or to queue a task by itself [W-035] [W-036]") {
  // Names that public headers must not call: they would be in every program's reach.
  for (const char* name : {R"(begin_park\()", R"(make_runnable\()", R"(\.leave\(\))", R"(\.deliver\()",
                           R"(make_ready\()", R"(inject\()", R"(push_inbox\()", R"(push_slot\()", R"(\.stay\(\))"}) {
    for (const std::string& file : users_of(name)) {
      INFO(file, " has ", name);
      CHECK_FALSE(is_public(file));
    }
  }
  // RUNNING -> PARKING belongs to waits, PARKED -> RUNNABLE to the scheduler.
  for (const std::string& file : users_of(R"(begin_park\()")) {
    INFO(file, " parks a task");
    CHECK(
        (file.starts_with("src/sched/") || file.starts_with("src/wait/") || file.starts_with("include/weft/detail/")));
  }
  for (const std::string& file : users_of(R"(make_runnable\(\);|run_on\()")) {
    INFO(file, " queues or runs a task");
    CHECK((file.starts_with("src/sched/") || file == "include/weft/detail/task_word.hpp"));
  }
}

TEST_CASE("audit: channels know the boundary of waiting, neither queues nor workers [W-037]") {
  const std::set<std::string> allowed = {
      "weft/channel.hpp",
      "weft/channel_status.hpp",
      "weft/detail/channel_core.hpp",
      "weft/detail/channel_wait.hpp",
      "weft/detail/last_seen.hpp",
      "weft/detail/point.hpp",
      "weft/detail/select_core.hpp",
      "weft/detail/seam.hpp",
      "weft/detail/wait_core.hpp",
      "weft/detail/wait_list.hpp",
      "weft/scope.hpp",
  };
  const std::regex include("#include \"([^\"]+)\"");
  const std::regex forbidden("this_worker|WorkerCore|make_ready|inject|push_young|ready_queue|deque");
  std::size_t files = 0;
  for (const Source& source : sources()) {
    if (!std::regex_search(source.path, std::regex("(^include/weft/(detail/)?channel|^src/wait/channel)"))) continue;
    ++files;
    INFO(source.path);
    for (std::sregex_iterator at(source.text.begin(), source.text.end(), include), end; at != end; ++at) {
      INFO((*at)[1].str());
      CHECK(allowed.count((*at)[1].str()) == 1);
    }
    CHECK_FALSE(std::regex_search(source.text, forbidden));
  }
  CHECK(files >= 5);
}

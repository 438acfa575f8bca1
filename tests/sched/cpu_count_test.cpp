// SPDX-License-Identifier: MIT
#include "sched/cpu_count.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"

using namespace weft::detail;

namespace {

// A control group tree of plain files.
class FakeTree {
 public:
  FakeTree() {
    std::string name = (std::filesystem::temp_directory_path() / "weft_cgroup_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~FakeTree() { std::filesystem::remove_all(root_); }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  FakeTree& file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
    return *this;
  }
  // Our place in it, as /proc/self/cgroup tells it.
  unsigned count(unsigned affinity, const std::string& place) {
    file("self_cgroup", place);
    return usable_cpus_from(affinity, root_.c_str(), (root_ / "self_cgroup").c_str());
  }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("cpu count: a quota of version 2 is rounded up and counts for at least one [N-019]") {
  const auto with_quota = [](const char* text) { return FakeTree().file("job/cpu.max", text).count(16, "0::/job\n"); };
  CHECK(with_quota("max 100000\n") == 16);
  CHECK(with_quota("400000 100000\n") == 4);
  CHECK(with_quota("150000 100000\n") == 2);
  CHECK(with_quota("100001 100000\n") == 2);
  CHECK(with_quota("100000 100000\n") == 1);
  CHECK(with_quota("1000 100000\n") == 1);
  CHECK(with_quota("50000 10000\n") == 5);
  CHECK(with_quota("9900000 100000\n") == 16);  // more than there are
}

TEST_CASE("cpu count: the tightest group on the way up decides [N-019]") {
  FakeTree tree;
  tree.file("a/cpu.max", "300000 100000\n")
      .file("a/b/cpu.max", "max 100000\n")
      .file("a/b/c/cpu.max", "700000 100000\n");
  CHECK(tree.count(16, "0::/a/b/c\n") == 3);
  CHECK(tree.count(2, "0::/a/b/c\n") == 2);
  CHECK(tree.count(16, "0::/a/other\n") == 3);
  CHECK(tree.count(16, "0::/\n") == 16);
  tree.file("cpu.max", "200000 100000\n");  // as a container sees its own group
  CHECK(tree.count(16, "0::/\n") == 2);
  CHECK(tree.count(16, "0::/path/of/the/host\n") == 2);
  CHECK(tree.count(16, "0::/../outside\n") == 2);
}

TEST_CASE("cpu count: a quota of version 1 counts, wherever its controller is mounted [N-019]") {
  const char* place = "12:pids:/x\n3:cpu,cpuacct:/job\n2:cpuset:/job\n";
  FakeTree joined;
  joined.file("cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n").file("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  CHECK(joined.count(16, place) == 3);
  FakeTree alone;
  alone.file("cpu/cpu.cfs_quota_us", "200000\n").file("cpu/cpu.cfs_period_us", "100000\n");
  CHECK(alone.count(16, "1:cpu:/\n") == 2);
  FakeTree unlimited;
  unlimited.file("cpu/cpu.cfs_quota_us", "-1\n").file("cpu/cpu.cfs_period_us", "100000\n");
  CHECK(unlimited.count(16, "1:cpu:/\n") == 16);
  // cpuset and cpuacct are other controllers.
  FakeTree others;
  others.file("cpuset/cpu.cfs_quota_us", "100000\n").file("cpuset/cpu.cfs_period_us", "100000\n");
  CHECK(others.count(16, "1:cpuset:/\n2:cpuacct:/\n") == 16);
}

TEST_CASE("cpu count: with both versions mounted the tighter one decides [N-019]") {
  FakeTree tree;
  tree.file("unified/job/cpu.max", "500000 100000\n");
  tree.file("cpu/job/cpu.cfs_quota_us", "900000\n").file("cpu/job/cpu.cfs_period_us", "100000\n");
  CHECK(tree.count(16, "1:cpu:/job\n0::/job\n") == 5);
}

TEST_CASE("cpu count: what is missing or makes no sense limits nothing [N-019]") {
  CHECK(usable_cpus_from(7, "/nowhere", "/nowhere") == 7);
  CHECK(usable_cpus_from(0, "/nowhere", "/nowhere") == 1);
  for (const char* text : {"", "\n", "max", "100000", "100000 \n", "100000 0\n", "0 100000\n", "-5 100000\n", "x y\n",
                           "100000 100000x\n", "99999999999999999999 100000\n", "1 2 3\n"}) {
    CAPTURE(text);
    CHECK(FakeTree().file("cpu.max", text).count(7, "0::/\n") == 7);
  }
  for (const char* place : {"", "\n", "0", "0:", "0::", ":::\n", "0::\n", "nonsense\n", "0::/a/../../b\n"}) {
    CAPTURE(place);
    CHECK(FakeTree().file("other/cpu.max", "100000 100000").count(7, place) == 7);
  }
}

TEST_CASE("cpu count: a mask of one processor makes one worker, and the whole mask what the groups allow [N-019]") {
  const weft_test::Outcome one = weft_test::run_program("cpus", {"1"});
  CHECK(one.exit_code == 0);
  CHECK(one.output == "mask 1 usable 1\n");

  const weft_test::Outcome all = weft_test::run_program("cpus", {});
  unsigned mask = 0;
  unsigned usable = 0;
  REQUIRE(std::sscanf(all.output.c_str(), "mask %u usable %u", &mask, &usable) == 2);
  CHECK(usable == usable_cpus_from(mask, "/sys/fs/cgroup", "/proc/self/cgroup"));
}

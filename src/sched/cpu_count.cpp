// SPDX-License-Identifier: MIT
#include "sched/cpu_count.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/sys.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr unsigned no_limit = std::numeric_limits<unsigned>::max();

// Empty if it cannot be read.
std::string contents_of(const std::string& path) {
  std::string text;
  const long fd = sys::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (sys::is_error(fd)) return text;
  char buffer[1024];
  for (long got; (got = sys::read(static_cast<int>(fd), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  sys::close(static_cast<int>(fd));
  return text;
}

// The part before the separator; text keeps the rest.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return front;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return {};
  return value;
}

unsigned processors(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return no_limit;
  const std::int64_t count = (*quota - 1) / *period + 1;
  return static_cast<unsigned>(std::min<std::int64_t>(count, no_limit));
}

// cpu.max: "max 100000" or "150000 100000".
unsigned limit_v2(const std::string& folder) {
  const std::string text = contents_of(folder + "/cpu.max");
  std::string_view line = text;
  line = cut(line, '\n');
  const auto quota = number(cut(line, ' '));  // "max" is no number, so no limit
  return processors(quota, number(line));
}

unsigned limit_v1(const std::string& folder) {
  const auto first_line = [&folder](const char* name) {
    const std::string text = contents_of(folder + name);
    std::string_view line = text;
    return number(cut(line, '\n'));
  };
  return processors(first_line("/cpu.cfs_quota_us"), first_line("/cpu.cfs_period_us"));
}

// The tightest limit of a group and of all groups around it, up to where the tree is mounted. In a container the path
// may be that of the host, of which only the last part, or nothing, is mounted here.
unsigned tightest(unsigned (*limit)(const std::string&), const std::string& mount, std::string_view group) {
  unsigned least = limit(mount);
  if (group.find("..") != std::string_view::npos) return least;  // outside our namespace
  while (group.size() > 1) {
    least = std::min(least, limit(mount + std::string(group)));
    group = group.substr(0, group.rfind('/'));
  }
  return least;
}

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    if (cut(controllers, ',') == "cpu") return true;
  }
  return false;
}

unsigned affinity_count() {
  std::uint64_t mask[1024] = {};  // 65,536 processors
  const long bytes =
      sys::invoke(SYS_sched_getaffinity, 0, sizeof mask, static_cast<long>(reinterpret_cast<std::uintptr_t>(mask)));
  if (sys::is_error(bytes)) return 1;
  int count = 0;
  for (const std::uint64_t word : mask) count += std::popcount(word);
  return static_cast<unsigned>(count);
}

}  // namespace

unsigned usable_cpus_from(unsigned affinity_count, const char* cgroup_root, const char* proc_self_cgroup) {
  const std::string root = cgroup_root;
  unsigned least = affinity_count;
  const std::string places = contents_of(proc_self_cgroup);
  std::string_view rest = places;
  while (!rest.empty()) {
    std::string_view line = cut(rest, '\n');  // "3:cpu,cpuacct:/group" or, version 2, "0::/group"
    cut(line, ':');
    const std::string_view controllers = cut(line, ':');
    if (controllers.empty()) {
      least = std::min({least, tightest(limit_v2, root, line), tightest(limit_v2, root + "/unified", line)});
    } else if (names_cpu(controllers)) {
      least = std::min({least, tightest(limit_v1, root + "/" + std::string(controllers), line),
                        tightest(limit_v1, root + "/cpu", line)});
    }
  }
  return std::max(least, 1U);
}

unsigned usable_cpus() {
  return usable_cpus_from(affinity_count(), "/sys/fs/cgroup", "/proc/self/cgroup");
}

}  // namespace weft::inline v0::detail

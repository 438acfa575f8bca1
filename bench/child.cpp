// SPDX-License-Identifier: MIT
#include "bench/child.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <thread>

namespace bench {
namespace {

[[noreturn]] void answer(int fd, std::vector<Reading> (*body)()) {
  int rc = 0;
  try {
    std::ostringstream out;
    out.precision(12);
    for (const Reading& r : body()) out << r.workload << ' ' << r.unit << ' ' << r.value << '\n';
    const std::string text = out.str();
    if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) rc = 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "\nprobe failed: %s\n", e.what());
    rc = 1;
  }
  _exit(rc);
}

}  // namespace

std::vector<Reading> in_child(std::vector<Reading> (*body)()) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    std::fprintf(stderr, "\nprobe: fork failed\n");
    return {};
  }
  if (pid == 0) {
    close(ends[0]);
    answer(ends[1], body);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) std::fprintf(stderr, "\nprobe died of signal %d\n", WTERMSIG(status));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  std::vector<Reading> readings;
  std::istringstream in(text);
  for (Reading r; in >> r.workload >> r.unit >> r.value;) readings.push_back(r);
  return readings;
}

void back_memory() {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return;
  if (pid > 0) {
    waitpid(pid, nullptr, 0);
    return;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t present = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  const std::size_t bytes = std::min(std::size_t{6} << 30, present / 2);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) _exit(1);
  const auto touch = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += page) static_cast<volatile char*>(memory)[at] = 1;
  };
  std::thread other(touch, 0, bytes / 2);
  touch(bytes / 2, bytes);
  other.join();
  _exit(0);
}

MemoryUse memory_use() {
  MemoryUse use{0, 0};
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  use.rss_bytes = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmPTE:", 0) == 0) use.page_table_bytes = std::stod(line.substr(6)) * 1024;
  return use;
}

}  // namespace bench

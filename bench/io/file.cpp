// SPDX-License-Identifier: MIT
// Reads of 4 KiB at random places of a file that is in the page cache: by 32 tasks on one worker, and by a plain pread
// in a loop. What is measured is the way to the kernel and back, not a disk.
#include "weft/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace bench {
namespace {

constexpr std::uint64_t block = 4096;
constexpr std::uint64_t blocks = 8192;  // 32 MiB
constexpr unsigned tasks = 32;
constexpr unsigned reads = 64'000;

// A file without a name, whose pages have just been written.
class Blocks {
 public:
  Blocks() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
    fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) throw std::runtime_error("no temporary file");
    path_ = "/proc/self/fd/" + std::to_string(fd_);
    std::filesystem::remove(name);
    const std::vector<char> text(block, 'x');
    for (std::uint64_t i = 0; i < blocks; ++i)
      if (write(fd_, text.data(), text.size()) != static_cast<ssize_t>(block))
        throw std::runtime_error("no room for the temporary file");
  }
  ~Blocks() { close(fd_); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  int fd_ = -1;
  std::string path_;
};

std::uint64_t next_offset(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (state >> 33) % blocks * block;
}

template <class F>
std::vector<Reading> measured(const char* row, F&& work) {
  const std::uint64_t begin = now_ns(Clock::wall);
  work();
  const double seconds = static_cast<double>(now_ns(Clock::wall) - begin) * 1e-9;
  return {{row, "k/s", reads / seconds / 1000}};
}

std::vector<Reading> by_weft(const char* row, weft::RuntimeOptions::IoEngine engine) {
  const Blocks file;
  weft::RuntimeOptions options;
  options.workers = 1;
  options.io = engine;
  weft::Runtime runtime(options);
  return runtime.run([&] {
    weft::File open = weft::File::open(file.path());
    const auto read = [&](unsigned count, std::uint64_t seed) {
      std::array<char, block> room;
      for (unsigned i = 0; i < count; ++i)
        if (open.read_at(room, next_offset(seed)) != block) throw std::runtime_error("a short read");
    };
    read(100, 1);  // the engine is made at the first request
    return measured(row, [&] {
      weft::with_nursery([&](weft::Nursery& nursery) {
        for (unsigned i = 0; i < tasks; ++i) nursery.start([&read, i] { read(reads / tasks, i); });
      });
    });
  });
}

std::vector<Reading> by_pread() {
  const Blocks file;
  return measured("file_read_4k/pread", [&] {
    std::array<char, block> room;
    std::uint64_t seed = 1;
    for (unsigned i = 0; i < reads; ++i)
      if (pread(file.fd(), room.data(), room.size(), static_cast<off_t>(next_offset(seed))) !=
          static_cast<ssize_t>(block))
        throw std::runtime_error("a short read");
  });
}

const Register entries[] = {
    Register(Probe{"io", "file_read_4k", Side::weft, 9,
                   [] { return by_weft("file_read_4k", weft::RuntimeOptions::IoEngine::uring); }}),
    Register(Probe{"io", "file_read_4k/pool", Side::weft, 9,
                   [] { return by_weft("file_read_4k/pool", weft::RuntimeOptions::IoEngine::epoll); }}),
    Register(Probe{"io", "file_read_4k/pread", Side::plain, 9, by_pread}),
};

}  // namespace
}  // namespace bench

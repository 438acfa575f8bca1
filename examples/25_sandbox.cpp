// SPDX-License-Identifier: MIT
// A sandbox for input and output: a plugin opens files as it likes, and the one who runs it decides. Each request goes
// to a function first, also from tasks that the plugin starts; it refuses, counts, or leads elsewhere.
#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>

#include "weft/file.hpp"
#include "weft/intercept.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace {

// Knows nothing of a sandbox.
std::string look(const std::string& path) {
  try {
    return weft::read_file(path);
  } catch (const std::system_error& error) {
    return error.code().message();
  }
}

void plugin() {
  std::printf("notes:  %s\n", look("notes").c_str());
  std::printf("secret: %s\n", look("/etc/shadow").c_str());
  weft::with_nursery([](weft::Nursery& n) {
    auto sneaky = n.spawn([] { return look("/etc/shadow"); });
    std::printf("secret, by another task: %s\n", sneaky.join().c_str());
  });
  weft::write_file("result", "42");
  std::printf("one more: %s\n", look("result").c_str());
}

// Files are in one folder, and only so many may be opened.
class Sandbox {
 public:
  Sandbox(std::string folder, int most) : folder_(std::move(folder)), left_(most) {}

  weft::IoResult operator()(weft::IoRequest& request) {
    if (request.op != weft::IoOp::open) return weft::perform_io(request);
    const std::string wanted = request.path;
    if (wanted.find('/') != std::string::npos) return weft::IoResult::failed(EACCES);
    const std::lock_guard guard(mutex_);
    if (left_-- == 0) return weft::IoResult::failed(EMFILE);
    const std::string inside = folder_ + "/" + wanted;
    weft::IoRequest led = request;
    led.path = inside.c_str();
    return weft::perform_io(led);
  }

 private:
  const std::string folder_;
  weft::Mutex mutex_;
  int left_;
};

}  // namespace

int main() {
  return weft::run([] {
    char folder[] = "/tmp/weft-sandbox-XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    const std::string inside = folder;
    weft::write_file(inside + "/notes", "buy milk");

    Sandbox sandbox(inside, 2);
    weft::intercept([&](weft::IoRequest& request) { return sandbox(request); }, plugin);

    std::printf("what it wrote is in the folder: %s\n", weft::read_file(inside + "/result").c_str());
    weft::remove_file(inside + "/notes");
    weft::remove_file(inside + "/result");
    weft::remove_directory(inside);
    return 0;
  });
}

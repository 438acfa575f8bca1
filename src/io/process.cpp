// SPDX-License-Identifier: MIT
#include "weft/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/sys.hpp"
#include "io/spawn_plan.hpp"
#include "weft/pipe.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace detail {

long spawn_child(const SpawnPlan& plan) noexcept {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return -ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return -ENOMEM;
  }
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);  // ours is ignored
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error = 0;
  for (int i = 0; i < 3 && error == 0; ++i)
    if (plan.streams[i] >= 0) error = posix_spawn_file_actions_adddup2(&actions, plan.streams[i], i);
  pid_t pid = 0;
  if (error == 0)
    error = posix_spawnp(&pid, plan.program, &actions, &attributes, plan.arguments,
                         plan.environment != nullptr ? plan.environment : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? -long{error} : long{pid};
}

}  // namespace detail

namespace {

// The end that the child gets, at a number above 2 so that dup2 never meets itself.
class ChildEnd {
 public:
  ChildEnd() = default;
  ~ChildEnd() {
    if (fd_ >= 0) (void)sys::close(fd_);
  }
  ChildEnd(const ChildEnd&) = delete;
  ChildEnd& operator=(const ChildEnd&) = delete;
  int fd() const { return fd_; }

  // Makes the stream of one side; `reads`: the child reads it.
  void open(ProcessStream kind, bool reads, Stream& ours) {
    if (kind == ProcessStream::inherit) return;
    if (kind == ProcessStream::null) return keep(sys::open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    Pipe pipe = make_pipe();
    Stream& theirs = reads ? pipe.reader : pipe.writer;
    // Blocking for the child: a description of its own.
    keep(sys::fcntl(theirs.fd(), F_DUPFD_CLOEXEC, 3), "dup");
    const long flags = sys::fcntl(fd_, F_GETFL, 0);
    if (!sys::is_error(flags)) (void)sys::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK);
    ours = std::move(reads ? pipe.writer : pipe.reader);
  }

 private:
  void keep(long fd, const char* what) {
    if (sys::is_error(fd)) throw_os_error(sys::error_of(fd), what);
    fd_ = static_cast<int>(fd);
    if (fd_ > 2) return;
    const long higher = sys::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
    (void)sys::close(std::exchange(fd_, -1));
    if (sys::is_error(higher)) throw_os_error(sys::error_of(higher), what);
    fd_ = static_cast<int>(higher);
  }
  int fd_ = -1;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Process Process::start(const std::string& program, const std::vector<std::string>& arguments,
                       const ProcessOptions& options) {
  Process child;
  std::array<ChildEnd, 3> ends;
  ends[0].open(options.in, true, child.in_);
  ends[1].open(options.out, false, child.out_);
  ends[2].open(options.err, false, child.err_);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = options.environment.value_or(std::vector<std::string>());
  std::vector<char*> argv = pointers(words);
  std::vector<char*> envp = pointers(variables);
  SpawnPlan plan{program.c_str(),
                 argv.data(),
                 options.environment ? envp.data() : nullptr,
                 {ends[0].fd(), ends[1].fd(), ends[2].fd()}};
  IoRequest request;
  request.op = IoOp::spawn;
  request.path = program.c_str();
  request.data = &plan;
  const IoResult started = perform_io(request);
  if (!started.ok()) throw std::system_error(started.error(), "start " + program);
  child.pid_ = static_cast<int>(started.value());
  child.ended_ = false;
  const long handle = sys::invoke(SYS_pidfd_open, child.pid_, 0);
  if (sys::is_error(handle)) throw_os_error(sys::error_of(handle), "pidfd_open");
  child.handle_ = Descriptor(static_cast<int>(handle), fd_plain);
  return child;
}

Process::Process(Process&& from) noexcept
    : pid_(from.pid_),
      ended_(std::exchange(from.ended_, true)),
      status_(from.status_),
      handle_(std::move(from.handle_)),
      in_(std::move(from.in_)),
      out_(std::move(from.out_)),
      err_(std::move(from.err_)) {}

Process& Process::operator=(Process&& from) noexcept {
  if (this == &from) return *this;
  end();
  pid_ = from.pid_;
  ended_ = std::exchange(from.ended_, true);
  status_ = from.status_;
  handle_ = std::move(from.handle_);
  in_ = std::move(from.in_);
  out_ = std::move(from.out_);
  err_ = std::move(from.err_);
  return *this;
}

Process::~Process() {
  end();
}

bool Process::reap() noexcept {
  siginfo_t about{};
  long n = 0;
  do {
    n = sys::invoke(SYS_waitid, P_PID, pid_, static_cast<long>(reinterpret_cast<std::uintptr_t>(&about)),
                    WEXITED | WNOHANG, 0);
  } while (n == -EINTR);
  if (n == 0 && about.si_pid == 0) return false;
  ended_ = true;
  if (n == 0) {
    status_ = about.si_code == CLD_EXITED ? ExitStatus{about.si_status, 0} : ExitStatus{0, about.si_status};
  }
  return true;  // somebody else has reaped it otherwise
}

// A killed child ends soon; whoever is cancelled waits for that, too.
void Process::end() noexcept {
  if (ended_) return;
  kill(SIGKILL);
  try {
    shield([&] {
      while (!reap()) {
        IoRequest request = handle_.request(IoOp::poll);
        request.flags = io_readable;
        request.quiet = true;
        if (!perform_io(request).ok()) seam::yield_thread();
      }
    });
  } catch (...) {
    while (!reap()) seam::yield_thread();  // an interceptor that does not let it wait
  }
}

ExitStatus Process::wait_for(std::chrono::nanoseconds span) {
  const std::int64_t when = deadline_after(span);
  return wait_until(when == seam::no_deadline ? never : Deadline(std::chrono::nanoseconds(when)));
}

ExitStatus Process::wait_until(Deadline deadline) {
  if (pid_ == 0) throw_os_error(ECHILD, "Process::wait");
  while (!ended_ && !reap()) {
    IoRequest request = handle_.request(IoOp::poll);
    request.flags = io_readable;
    request.deadline = deadline;
    IoResult result;
    try {
      result = perform_io(request);
    } catch (const Cancelled&) {
      end();
      throw;
    }
    if (!result.ok()) throw_os_error(result.os_error(), "Process::wait");
  }
  return status_;
}

void Process::kill(int signal) {
  if (!ended_) (void)sys::invoke(SYS_kill, pid_, signal);
}

void Process::kill() {
  kill(SIGKILL);
}

void Process::detach() {
  ended_ = true;
}

}  // namespace weft::inline v0

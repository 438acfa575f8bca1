// SPDX-License-Identifier: MIT
// What: system calls that fail, or do less than they were asked for, and ways for bytes to go through them.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/sys.hpp"
#include "weft/net.hpp"
#include "weft/pipe.hpp"
#include "weft/sync_event.hpp"

namespace weft_test {

using namespace weft;
using namespace weft::detail;

inline constexpr const char* faults_folder = "/tmp/weft-faults-";

// Answers the next calls of one number by an error, or makes all transfers short.
class Injector {
 public:
  Injector() { sys::set_interceptor(answer, this); }
  ~Injector() { sys::set_interceptor(nullptr, nullptr); }
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  void arm(long number, int error, int count = 1) {
    error_ = error;
    number_ = number;
    left_ = count;
  }
  bool spent() const { return left_ <= 0; }
  void disarm() { left_ = 0; }
  void tell(SyncEvent* answered) { answered_ = answered; }  // set whenever it has answered by an error; null: none
  void shorten(std::size_t most, bool reads = true) {       // 0: no more
    most_ = most;
    short_reads_ = reads;
  }
  long shortened() const { return shortened_; }

 private:
  static bool answer(const sys::Call& call, long* result, void* context) {
    auto& mine = *static_cast<Injector*>(context);
    if (mine.left_.load() > 0 && mine.is_meant(call)) {
      if (mine.left_.fetch_sub(1) <= 0) return false;
      *result = -long{mine.error_.load()};
      if (SyncEvent* answered = mine.answered_.load()) answered->set();
      return true;
    }
    const std::size_t most = mine.most_.load();
    return most != 0 && this_task() != nullptr && mine.short_call(call, most, result);
  }

  bool is_meant(const sys::Call& call) const {
    if (call.number != number_.load()) return false;
    switch (call.number) {
      case SYS_openat:  // others open files, too: the deadlock watch, for one
        return std::strncmp(reinterpret_cast<const char*>(call.args[1]), faults_folder, 17) == 0;
      case SYS_read:
        return this_task() != nullptr;
      case SYS_write:
        return call.args[2] == 1;  // not a bell's
      case SYS_io_uring_enter:
        return call.args[1] != 0 || error_.load() == EINTR;  // to submit something; a wait is only interrupted
      case SYS_mmap:
        return call.args[4] >= 0;  // a ring's
      default:
        return true;
    }
  }

  // The call that was asked for, for fewer bytes: what it moves is right.
  bool short_call(const sys::Call& call, std::size_t most, long* result) {
    const auto go = [&](const sys::Call& c) {
      *result = sys::invoke(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5]);
      return true;
    };
    sys::Call less = call;
    const auto first_of = [&](const iovec* slices) {
      return iovec{slices[0].iov_base, std::min(slices[0].iov_len, most)};
    };
    switch (call.number) {
      case SYS_read:
      case SYS_write:
      case SYS_recvfrom:
      case SYS_sendto:
      case SYS_pread64:
      case SYS_pwrite64: {
        const auto size = static_cast<std::size_t>(call.args[2]);
        if (size <= most || size == 8) return false;  // eight bytes are a bell's
        if (call.number == SYS_recvfrom && !short_reads_) return false;
        ++shortened_;
        less.args[2] = static_cast<long>(most);
        return go(less);
      }
      case SYS_readv:
      case SYS_writev: {
        const iovec one = first_of(reinterpret_cast<const iovec*>(call.args[1]));
        ++shortened_;
        less.number = call.number == SYS_readv ? SYS_read : SYS_write;
        less.args[1] = static_cast<long>(reinterpret_cast<std::uintptr_t>(one.iov_base));
        less.args[2] = static_cast<long>(one.iov_len);
        return go(less);
      }
      case SYS_recvmsg:
      case SYS_sendmsg: {
        msghdr header = *reinterpret_cast<const msghdr*>(call.args[1]);
        if (header.msg_iovlen == 1 && header.msg_iov[0].iov_len <= most) return false;
        iovec one = first_of(header.msg_iov);
        header.msg_iov = &one;
        header.msg_iovlen = 1;
        ++shortened_;
        less.args[1] = static_cast<long>(reinterpret_cast<std::uintptr_t>(&header));
        return go(less);
      }
      default:
        return false;
    }
  }

  std::atomic<long> number_{-1};
  std::atomic<int> error_{0};
  std::atomic<int> left_{0};
  std::atomic<SyncEvent*> answered_{nullptr};
  std::atomic<std::size_t> most_{0};
  std::atomic<bool> short_reads_{true};
  std::atomic<long> shortened_{0};
};

// One way from a to b, of one kind, and its two ends.
struct Lane {
  Stream in;
  Stream out;
};
inline Lane unix_lane() {
  auto [a, b] = UnixStream::make_pair();
  return {std::move(b), std::move(a)};
}
inline Lane pipe_lane() {
  Pipe pipe = make_pipe();
  return {std::move(pipe.reader), std::move(pipe.writer)};
}
inline Lane tcp_lane() {
  TcpListener listener = TcpListener::bind(Address::loopback());
  TcpStream client = TcpStream::connect(listener.local());
  client.no_delay();
  return {listener.accept(), std::move(client)};
}

}  // namespace weft_test

// SPDX-License-Identifier: MIT
// What: what a simulated world is made of, apart from tasks: an agenda of what will happen when, descriptors, and draws
// of fate.
// Threads: the one that drives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "sim/choices.hpp"
#include "weft/detail/gate_wait.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// What is under way: done at its time, in the order in which it was put there.
class Agenda {
 public:
  void at(std::int64_t when, std::function<void()> what) { plans_.emplace(when, std::move(what)); }
  std::int64_t earliest() const { return plans_.empty() ? seam::no_deadline : plans_.begin()->first; }
  // The first one.
  void do_next();

 private:
  std::multimap<std::int64_t, std::function<void()>> plans_;
};

// Whoever draws: the universe.
class Fate {
 public:
  virtual std::int64_t now() const = 0;
  // Trouble, with that probability; 0 draws nothing.
  virtual bool strikes(ChoiceStream stream, double probability, std::string_view what) = 0;
  // From low to high, in sixteen steps; usually low.
  virtual std::int64_t between(ChoiceStream stream, std::int64_t low, std::int64_t high, std::string_view what) = 0;
  // 1 to most; usually most.
  virtual std::size_t part(ChoiceStream stream, double probability, std::size_t most, std::string_view what) = 0;
  // What has happened without anybody's asking.
  virtual void note(std::string_view text) = 0;

 protected:
  ~Fate() = default;
};

// What a descriptor stands for. Held by who uses it, so it outlives its closing.
class SimNode {
 public:
  SimNode() = default;
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;
  virtual ~SimNode() = default;

  virtual std::string about() const = 0;
  // The last that happens by its descriptor.
  virtual void close() = 0;
  // IoReady.
  virtual std::uint32_t ready() const { return io_readable | io_writable; }

  // Whoever waits looks again.
  GateCore changed{1};
  bool closed = false;  // its descriptor is
};
using SimNodeRef = std::shared_ptr<SimNode>;

class SimDescriptors {
 public:
  static constexpr int base = 1 << 21;  // far above what the kernel gives

  int add(SimNodeRef node);  // the lowest free number
  // Null: there is none, or another one by now (the issue of the request tells).
  SimNodeRef find(const IoRequest& request) const;
  bool remove(int fd);
  const std::map<int, SimNodeRef>& all() const { return nodes_; }

 private:
  std::map<int, SimNodeRef> nodes_;
};

// Waits until somebody pulses node.changed: 0, -ETIMEDOUT, -ECANCELED (quietly), or -EBADF if it was closed. Throws
// Cancelled, unless the request is quiet.
long wait_for_change(SimNode& node, const IoRequest& request);
// As long as it takes, whatever asks the task to stop.
void pass_time(std::int64_t until, const char* kind);

// The bytes of a request, one after the other.
std::string bytes_of(const IoRequest& request);
std::size_t room_of(const IoRequest& request);
void put_bytes(const IoRequest& request, std::string_view bytes);

}  // namespace weft::inline v0::detail

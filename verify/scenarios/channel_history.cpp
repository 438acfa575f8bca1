// SPDX-License-Identifier: MIT
// Short histories of a channel, recorded under every schedule and compared with a queue that does one thing at a time:
// some order of the operations, which keeps what was over before another began, must explain every answer.
#include <deque>
#include <memory>
#include <vector>

#include "mutants.hpp"
#include "scenarios/channel_stage.hpp"
#include "scenarios/history.hpp"
#include "weft/detail/channel_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::ChannelRules;

struct Call {
  enum class Kind { try_send, try_recv, close } kind;
  int value = 0;  // sent or received
  End end = End::nothing;
  int begin = 0, over = 0;
};

// The specification.
struct Queue {
  std::deque<int> values;
  bool closed = false;
  std::size_t capacity = 0;
  bool explains(const Call& call) {
    switch (call.kind) {
      case Call::Kind::try_send:
        if (closed) return call.end == End::closed;
        if (values.size() == capacity) return call.end == End::nothing;
        values.push_back(call.value);
        return call.end == End::sent;
      case Call::Kind::try_recv:
        if (values.empty()) return call.end == (closed ? End::closed : End::nothing);
        if (call.end != End::received || call.value != values.front()) return false;
        values.pop_front();
        return true;
      case Call::Kind::close:
        if (closed) return call.end == End::nothing;
        closed = true;
        return call.end == End::closed;
    }
    return false;
  }
};

template <class Rules>
struct Recorder {
  Recorder(World& world, std::uint32_t capacity) : stage(world, capacity) {}
  template <class F>
  void record(Call::Kind kind, int value, F&& perform) {
    Call call{kind, value};
    call.begin = ++clock;
    call.end = perform(call);
    call.over = ++clock;
    calls.push_back(call);
  }
  void send(int value) {
    record(Call::Kind::try_send, value, [&](Call&) { return stage.try_send(value); });
  }
  void recv() {
    record(Call::Kind::try_recv, 0, [&](Call& call) {
      std::optional<Item> into;
      typename ChannelStage<Rules>::Task* woken = nullptr;
      const auto taken = stage.core.try_recv(into, woken);
      if (into) call.value = into->number;
      return taken == Rules::Take::value ? End::received : taken == Rules::Take::closed ? End::closed : End::nothing;
    });
  }
  void close() {
    record(Call::Kind::close, 0, [&](Call&) { return stage.close(1) ? End::closed : End::nothing; });
  }
  void check_all() {
    Queue empty;
    empty.capacity = stage.core.capacity();
    check(linearizable(calls, empty), "no order explains the answers");
  }

  ChannelStage<Rules> stage;
  std::vector<Call> calls;
  int clock = 0;
};

template <class Rules>
void mixed(World& world) {
  auto all = std::make_shared<Recorder<Rules>>(world, 2);
  world.thread("a", [all] { all->send(1), all->send(2), all->recv(); });
  world.thread("b", [all] { all->send(3), all->recv(); });
  world.thread("c", [all] { all->recv(), all->send(4), all->recv(); });
  world.finally([all] { all->check_all(); });
}
template <class Rules>
void with_close(World& world) {
  auto all = std::make_shared<Recorder<Rules>>(world, 1);
  world.thread("a", [all] { all->send(1), all->send(2); });
  world.thread("b", [all] { all->recv(), all->recv(), all->recv(); });
  world.thread("c", [all] { all->close(), all->send(3), all->close(); });
  world.finally([all] { all->check_all(); });
}

const Register a{{.name = "channel history: sends and receives of three tasks", .run = mixed<Real>, .preemptions = 3}};
const Register b{{.name = "channel history: with close [W-064]", .run = with_close<Real>, .preemptions = 3}};

const Register m1{{.name = "mutant: channel history: the newest comes out first",
                   .run = mixed<mutants::chan_newest_first::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: channel history: closed is looked at before the buffer",
                   .run = with_close<mutants::close_before_buffer::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: channel history: closed takes still",
                   .run = with_close<mutants::close_takes_still::Kit::ChannelRules>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify

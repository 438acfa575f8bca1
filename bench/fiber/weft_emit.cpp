// SPDX-License-Identifier: MIT
// A signal that L nested fibers do not catch and one around them does. The catcher resumes, the emitter goes on.
#include "bench/harness.hpp"
#include "weft/fiber.hpp"

namespace bench {
namespace {

void nest(int levels) {
  if (levels == 0)
    for (;;) weft::emit(weft::sig::user5);
  weft::Fiber inner([levels] { nest(levels - 1); }, weft::SignalSet{weft::sig::debug});
  inner.resume();
}

template <int Levels>
void emit_through(Batch& batch) {
  weft::Fiber outer([] { nest(Levels); }, weft::SignalSet{weft::sig::user5});
  outer.resume();
  batch.start();
  for (std::uint64_t i = 0; i < batch.ops(); ++i) outer.resume();
  batch.stop();
}

// All depths in one field: their differences are taken run by run.
const Register entries[] = {
    Register(Contestant{"fiber", "emit", "weft_through_0", Side::weft, emit_through<0>}),
    Register(Contestant{"fiber", "emit", "weft_through_1", Side::weft, emit_through<1>}),
    Register(Contestant{"fiber", "emit", "weft_through_2", Side::weft, emit_through<2>}),
    Register(Contestant{"fiber", "emit", "weft_through_4", Side::weft, emit_through<4>}),
    Register(Contestant{"fiber", "emit", "weft_through_8", Side::weft, emit_through<8>}),
};

}  // namespace
}  // namespace bench

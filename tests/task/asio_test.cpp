// SPDX-License-Identifier: MIT
#include "weft/asio.hpp"

#include <asio.hpp>

namespace net = asio;
using NetError = asio::error_code;
using NetSystemError = asio::system_error;

#include "task/asio_cases.hpp"

TEST_CASE("asio: a fiber awaits a timer, and its worker serves others meanwhile [N-081]") {
  awaits_a_timer();
}

TEST_CASE("asio: an echo over sockets, errors thrown or stored [N-081]") {
  echoes_over_sockets();
}

TEST_CASE("asio: a cancel crosses: the operation is told, its final completion decides [N-081]") {
  cancel_crosses();
}

TEST_CASE("asio: operations of all shapes: several values, an exception, none, and one that is given up") {
  has_all_shapes();
}

TEST_CASE("asio: a cancellation that the executor refuses does not end the wait: the operation still has the room") {
  waits_for_a_refused_cancel();
}

TEST_CASE("asio: a result that cannot be kept is the fiber's exception") {
  throws_a_result_that_cannot_be_kept();
}

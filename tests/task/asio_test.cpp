// SPDX-License-Identifier: MIT
#include "weft/asio.hpp"

#include <asio.hpp>

namespace net = asio;
using NetError = asio::error_code;
using NetSystemError = asio::system_error;
#define WEFT_TEST_ASIO "asio"

#include "task/asio_cases.hpp"

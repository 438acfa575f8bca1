// SPDX-License-Identifier: MIT
#include <boost/asio.hpp>

#define WEFT_ASIO_BOOST 1  // whichever is included first
#include "weft/asio.hpp"

namespace net = boost::asio;
using NetError = boost::system::error_code;
using NetSystemError = boost::system::system_error;
#define WEFT_TEST_ASIO "boost asio"

#include "task/asio_cases.hpp"

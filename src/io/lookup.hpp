// SPDX-License-Identifier: MIT
// What: IoOp::resolve as the system's resolver answers it, on a thread that is no worker.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "sched/runtime_core.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// Asks and waits. 0, or an error number.
using Lookup = int (*)(const std::string& host, const std::string& service, std::vector<sockaddr_storage>& into);
extern Lookup lookup;  // getaddrinfo; a test gives one that hangs

// By a task of the runtime, or by a plain thread (null), which waits itself. Throws Cancelled, unless it is quiet.
IoResult resolve_by_system(RuntimeCore* runtime, const IoRequest& request);

}  // namespace weft::inline v0::detail

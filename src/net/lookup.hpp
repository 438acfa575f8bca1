// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/address.hpp"

namespace weft::inline v0::detail {

// Asks and waits. 0, or an error number.
using Lookup = int (*)(const std::string& host, std::uint16_t port, std::vector<Address>& into);
extern Lookup lookup;  // getaddrinfo; a test gives one that hangs

}  // namespace weft::inline v0::detail

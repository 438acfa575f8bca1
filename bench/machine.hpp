// SPDX-License-Identifier: MIT
// What: the facts about machine and build that a number needs beside it. No host name.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

using Facts = std::vector<std::pair<std::string, std::string>>;
Facts machine_facts();
std::string load_average();

}  // namespace bench

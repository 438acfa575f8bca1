// SPDX-License-Identifier: MIT
#include "explorer/registry.hpp"

#include <algorithm>
#include <filesystem>

namespace weft::inline v0::verify {
namespace {

std::vector<RegisteredEntry>& registered() {
  static std::vector<RegisteredEntry> entries;
  return entries;
}

}  // namespace

Register::Register(Entry entry, std::source_location where) {
  registered().push_back({std::move(entry), std::filesystem::path(where.file_name()).stem().string()});
}

std::vector<RegisteredEntry> all_scenarios() {
  std::vector<RegisteredEntry> entries = registered();
  // The order of static initialisers across files is the linker's business; within a file it is the text's.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const RegisteredEntry& a, const RegisteredEntry& b) { return a.group < b.group; });
  return entries;
}

}  // namespace weft::inline v0::verify

// SPDX-License-Identifier: MIT
#include "base/peek.hpp"

#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/tool_hooks.hpp"

using weft::detail::peek;
using weft::detail::peek_by_pipe;

namespace {

using Peek = bool (*)(void*, const void*, std::size_t) noexcept;
constexpr Peek both[] = {static_cast<Peek>(peek), peek_by_pipe};

TEST_CASE("peek: copies what is there, however long, with and without the system call for it") {
  std::vector<unsigned char> from(100'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7);
  for (const Peek look : both) {
    std::vector<unsigned char> to(from.size());
    CHECK(look(to.data(), from.data(), from.size()));
    CHECK(to == from);
  }
}

TEST_CASE("peek: what cannot be read is an answer, not a signal; nor is what ends in the middle") {
  constexpr std::size_t page = 4096;
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(mprotect(static_cast<char*>(pages) + page, page, PROT_NONE) == 0);
  for (const Peek look : both) {
    unsigned char to[64];
    const weft::detail::ToolsLookAway while_asked;  // valgrind reports a write() from where nothing is
    CHECK_FALSE(look(to, reinterpret_cast<const void*>(8), 8));
    CHECK(look(to, static_cast<char*>(pages) + page - 32, 32));
    CHECK_FALSE(look(to, static_cast<char*>(pages) + page - 32, 64));
  }
  munmap(pages, 2 * page);
}

}  // namespace

// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "weft/file.hpp"

namespace weft::inline v0 {
namespace {

// As getdents64 writes it.
struct Head {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t kind;
};
constexpr std::size_t name_at = 19;

DirectoryEntry::Kind kind_of(std::uint8_t kind) {
  switch (kind) {
    case DT_REG:
      return DirectoryEntry::Kind::file;
    case DT_DIR:
      return DirectoryEntry::Kind::directory;
    case DT_LNK:
      return DirectoryEntry::Kind::link;
    case DT_UNKNOWN:
      return DirectoryEntry::Kind::unknown;
    default:
      return DirectoryEntry::Kind::other;
  }
}

void add_entries(std::vector<DirectoryEntry>& all, const char* at, const char* end) {
  while (at < end) {
    Head head;
    std::memcpy(&head, at, sizeof head);
    const std::string_view name(at + name_at);
    if (name != "." && name != "..") all.push_back({std::string(name), kind_of(head.kind)});
    at += head.size;
  }
}

}  // namespace

std::vector<DirectoryEntry> list_directory(const std::string& path) {
  IoRequest open;
  open.op = IoOp::open;
  open.path = path.c_str();
  open.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const IoResult opened = perform_io(open);
  if (!opened.ok()) throw std::system_error(opened.error(), "list_directory " + path);
  const detail::Descriptor directory(static_cast<int>(opened.value()), detail::fd_plain);
  std::vector<DirectoryEntry> all;
  alignas(8) std::array<char, 8192> room;
  for (;;) {
    IoRequest request = directory.request(IoOp::list);
    request.data = room.data();
    request.size = room.size();
    const std::size_t n = detail::checked(perform_io(request), "list_directory");
    if (n == 0) break;
    add_entries(all, room.data(), room.data() + n);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace weft::inline v0

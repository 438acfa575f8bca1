// SPDX-License-Identifier: MIT
#include "sim/disk.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::inline v0::detail {
namespace {

// "/a/b" of "a//b/", "./a/b" or "/a/x/../b".
std::string whole_path(const char* path) {
  std::vector<std::string_view> parts;
  std::string_view left = path;
  while (!left.empty()) {
    const std::size_t slash = std::min(left.find('/'), left.size());
    const std::string_view part = left.substr(0, slash);
    left.remove_prefix(std::min(slash + 1, left.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string whole;
  for (const std::string_view part : parts) whole.append("/").append(part);
  return whole.empty() ? "/" : whole;
}

// As getdents64 writes it.
void put_entry(std::string& into, std::string_view name, bool directory, std::uint64_t number) {
  constexpr std::size_t name_at = 19;
  const std::size_t size = (name_at + name.size() + 1 + 7) / 8 * 8;
  std::string entry(size, '\0');
  const std::uint64_t inode = number + 1;
  const auto offset = static_cast<std::int64_t>(number + 1);
  const auto length = static_cast<std::uint16_t>(size);
  std::memcpy(entry.data(), &inode, 8);
  std::memcpy(entry.data() + 8, &offset, 8);
  std::memcpy(entry.data() + 16, &length, 2);
  entry[18] = static_cast<char>(directory ? DT_DIR : DT_REG);
  std::copy(name.begin(), name.end(), entry.begin() + name_at);
  into += entry;
}

}  // namespace

Disk::Disk(Fate& fate, SimDescriptors& descriptors, const sim::FileOptions& options)
    : fate_(fate), descriptors_(descriptors), options_(options) {
  for (const char* path : {"/", "/tmp"}) {
    auto directory = std::make_shared<Inode>();
    directory->directory = true;
    names_.emplace(path, std::move(directory));
  }
}

void Disk::take_time(const char* kind) {
  const std::int64_t takes =
      fate_.between(ChoiceStream::files, options_.latency_min.count(), options_.latency_max.count(), "latency");
  if (takes > 0) pass_time(fate_.now() + takes, kind);
}

Disk::InodeRef Disk::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found != names_.end() ? found->second : nullptr;
}

bool Disk::has_parent(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const InodeRef parent = find(slash == 0 ? "/" : path.substr(0, slash));
  return parent != nullptr && parent->directory;
}

std::vector<std::pair<std::string, bool>> Disk::entries(const std::string& path) const {
  const std::string prefix = path == "/" ? "/" : path + "/";
  std::vector<std::pair<std::string, bool>> found;
  for (auto at = names_.upper_bound(prefix); at != names_.end() && at->first.starts_with(prefix); ++at) {
    const std::string name = at->first.substr(prefix.size());
    if (name.find('/') == std::string::npos) found.emplace_back(name, at->second->directory);
  }
  return found;
}

bool Disk::is_empty(const std::string& path) const {
  return entries(path).empty();
}

long Disk::perform_path(IoRequest& request) {
  take_time(to_string(request.op));
  if (fate_.strikes(ChoiceStream::files, options_.error, "EIO")) return -EIO;
  const std::string path = whole_path(request.path);
  switch (request.op) {
    case IoOp::open:
      return open(request);
    case IoOp::remove:
      return remove(path, request.flags == 1);
    case IoOp::rename:
      return rename(path, whole_path(request.to));
    case IoOp::make_dir:
      return make_directory(path);
    default:
      return -EINVAL;
  }
}

long Disk::open(const IoRequest& request) {
  const std::string path = whole_path(request.path);
  const auto flags = static_cast<int>(request.flags);
  const int access = flags & O_ACCMODE;
  InodeRef inode = find(path);
  if (inode == nullptr) {
    if ((flags & O_CREAT) == 0 || !has_parent(path)) return -ENOENT;
    inode = std::make_shared<Inode>();
    names_.emplace(path, inode);
  } else if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
    return -EEXIST;
  }
  if (inode->directory && access != O_RDONLY) return -EISDIR;
  if (!inode->directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  if ((flags & O_TRUNC) != 0 && access != O_RDONLY) inode->bytes.clear();
  auto file = std::make_shared<SimFile>(*this, path, std::move(inode));
  file->reads = access == O_RDONLY || access == O_RDWR;
  file->writes = access == O_WRONLY || access == O_RDWR;
  file->appends = (flags & O_APPEND) != 0;
  return descriptors_.add(std::move(file));
}

long Disk::remove(const std::string& path, bool directory) {
  const InodeRef inode = find(path);
  if (inode == nullptr) return -ENOENT;
  if (directory && !inode->directory) return -ENOTDIR;
  if (!directory && inode->directory) return -EISDIR;
  if (path == "/") return -EBUSY;
  if (directory && !is_empty(path)) return -ENOTEMPTY;
  names_.erase(path);
  return 0;
}

long Disk::rename(const std::string& from, const std::string& to) {
  const InodeRef inode = find(from);
  if (inode == nullptr || !has_parent(to)) return -ENOENT;
  if (from == to) return 0;
  if (inode->directory && to.starts_with(from + "/")) return -EINVAL;
  if (const InodeRef there = find(to)) {
    if (there->directory != inode->directory) return there->directory ? -EISDIR : -ENOTDIR;
    if (there->directory && !is_empty(to)) return -ENOTEMPTY;
    names_.erase(to);
  }
  std::map<std::string, InodeRef> moved;
  for (auto at = names_.lower_bound(from); at != names_.end() && at->first.starts_with(from);) {
    if (at->first.size() != from.size() && at->first[from.size()] != '/') {
      ++at;
      continue;
    }
    moved.emplace(to + at->first.substr(from.size()), at->second);
    at = names_.erase(at);
  }
  names_.merge(moved);
  return 0;
}

long Disk::make_directory(const std::string& path) {
  if (find(path) != nullptr) return -EEXIST;
  if (!has_parent(path)) return -ENOENT;
  auto directory = std::make_shared<Inode>();
  directory->directory = true;
  names_.emplace(path, std::move(directory));
  return 0;
}

void Disk::lose_unsynced() {
  for (const auto& [path, inode] : names_) inode->bytes = inode->synced;
}

long SimFile::read(const IoRequest& request, std::size_t at, std::size_t& moved) {
  if (!reads) return -EBADF;
  if (inode->directory) return -EISDIR;
  if (disk.fate_.strikes(ChoiceStream::files, disk.options_.error, "EIO")) return -EIO;
  if (at >= inode->bytes.size()) return 0;
  const std::size_t most = std::min(room_of(request), inode->bytes.size() - at);
  if (most == 0) return 0;
  moved = disk.fate_.part(ChoiceStream::files, disk.options_.cut, most, "short read");
  put_bytes(request, std::string_view(inode->bytes).substr(at, moved));
  return static_cast<long>(moved);
}

long SimFile::write(const IoRequest& request, std::size_t at, std::size_t& moved) {
  if (!writes) return -EBADF;
  if (disk.fate_.strikes(ChoiceStream::files, disk.options_.error, "EIO")) return -EIO;
  if (disk.fate_.strikes(ChoiceStream::files, disk.options_.full, "ENOSPC")) return -ENOSPC;
  const std::string bytes = bytes_of(request);
  if (bytes.empty()) return 0;
  moved = disk.fate_.part(ChoiceStream::files, disk.options_.cut, bytes.size(), "short write");
  if (inode->bytes.size() < at + moved) inode->bytes.resize(at + moved, '\0');
  inode->bytes.replace(at, moved, bytes, 0, moved);
  return static_cast<long>(moved);
}

long SimFile::list(const IoRequest& request) {
  if (!inode->directory) return -ENOTDIR;
  const auto all = disk.entries(path);
  std::string bytes;
  for (; position < all.size(); ++position) {
    std::string one;
    put_entry(one, all[position].first, all[position].second, position);
    if (bytes.size() + one.size() > request.size) break;
    bytes += one;
  }
  if (bytes.empty() && position < all.size()) return -EINVAL;
  put_bytes(request, bytes);
  return static_cast<long>(bytes.size());
}

long SimFile::perform(IoRequest& request) {
  if (request.op != IoOp::size && request.op != IoOp::poll) disk.take_time(to_string(request.op));
  const auto offset = static_cast<std::size_t>(std::max<std::int64_t>(request.offset, 0));
  std::size_t moved = 0;
  long result = 0;
  switch (request.op) {
    case IoOp::read:
      result = read(request, position, moved);
      position += moved;
      return result;
    case IoOp::write:
      if (appends) position = inode->bytes.size();
      result = write(request, position, moved);
      position += moved;
      return result;
    case IoOp::read_at:
      return read(request, offset, moved);
    case IoOp::write_at:
      return write(request, offset, moved);
    case IoOp::sync:
      if (disk.fate_.strikes(ChoiceStream::files, disk.options_.error, "EIO")) return -EIO;
      inode->synced = inode->bytes;
      return 0;
    case IoOp::size:
      return static_cast<long>(inode->bytes.size());
    case IoOp::truncate:
      if (!writes) return -EBADF;
      inode->bytes.resize(offset, '\0');
      return 0;
    case IoOp::list:
      return list(request);
    case IoOp::poll:
      return static_cast<long>(request.flags & (io_readable | io_writable));
    default:
      return -ENOTSOCK;
  }
}

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "weft/file.hpp"

#include <fcntl.h>

#include <cerrno>

namespace weft::inline v0 {

using namespace detail;

namespace {

std::uint32_t flags_of(const OpenOptions& options) {
  const bool writes = options.write || options.append;
  int flags = writes && options.read ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
  if (options.create) flags |= O_CREAT;
  if (options.exclusive) flags |= O_CREAT | O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  if (options.append) flags |= O_APPEND;
  return static_cast<std::uint32_t>(flags | O_CLOEXEC);
}

IoResult open_path(Descriptor& into, const std::string& path, std::uint32_t flags, std::uint32_t mode, bool quiet) {
  IoRequest request;
  request.op = IoOp::open;
  request.path = path.c_str();
  request.flags = flags;
  request.mode = mode;
  request.quiet = quiet;
  const IoResult result = perform_io(request);
  if (result.ok()) into = Descriptor(static_cast<int>(result.value()), fd_plain);
  return result;
}

void change_path(IoOp op, const char* what, const std::string& path, const char* to, std::uint32_t flags,
                 std::uint32_t mode) {
  IoRequest request;
  request.op = op;
  request.path = path.c_str();
  request.to = to;
  request.flags = flags;
  request.mode = mode;
  const IoResult result = perform_io(request);
  if (!result.ok()) throw std::system_error(result.error(), std::string(what) + " " + path);
}

}  // namespace

File File::open(const std::string& path, const OpenOptions& options) {
  File file;
  const IoResult result = open_path(file.descriptor_, path, flags_of(options), options.mode, false);
  if (!result.ok()) throw std::system_error(result.error(), "open " + path);
  return file;
}

IoResult File::open_result(File& into, const std::string& path, const OpenOptions& options) {
  return open_path(into.descriptor_, path, flags_of(options), options.mode, true);
}

void File::close() {
  (void)checked(descriptor_.close(), "close");
}

IoResult File::transfer(IoOp op, const void* data, std::size_t size, std::uint64_t offset, bool quiet) {
  if (size == 0) return IoResult();
  IoRequest request = descriptor_.request(op);
  request.data = const_cast<void*>(data);
  request.size = size;
  request.offset = static_cast<std::int64_t>(offset);
  request.quiet = quiet;
  return perform_io(request);
}

std::size_t File::read(Room room) {
  return checked(transfer(IoOp::read, room.data, room.size, 0, false), "read");
}

IoResult File::read_result(Room room) {
  return transfer(IoOp::read, room.data, room.size, 0, true);
}

void File::write(Bytes bytes) {
  for (std::size_t done = 0; done < bytes.size;) {
    const Bytes rest = bytes.from(done);
    done += checked(transfer(IoOp::write, rest.data, rest.size, 0, false), "write");
  }
}

IoResult File::write_result(Bytes bytes) {
  return transfer(IoOp::write, bytes.data, bytes.size, 0, true);
}

std::size_t File::read_at(Room room, std::uint64_t offset) {
  return checked(transfer(IoOp::read_at, room.data, room.size, offset, false), "read_at");
}

IoResult File::read_at_result(Room room, std::uint64_t offset) {
  return transfer(IoOp::read_at, room.data, room.size, offset, true);
}

void File::write_at(Bytes bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size;) {
    const Bytes rest = bytes.from(done);
    done += checked(transfer(IoOp::write_at, rest.data, rest.size, offset + done, false), "write_at");
  }
}

IoResult File::write_at_result(Bytes bytes, std::uint64_t offset) {
  return transfer(IoOp::write_at, bytes.data, bytes.size, offset, true);
}

void File::sync(bool data_only) {
  IoRequest request = descriptor_.request(IoOp::sync);
  request.flags = data_only ? 1 : 0;
  (void)checked(perform_io(request), "sync");
}

IoResult File::sync_result(bool data_only) {
  IoRequest request = descriptor_.request(IoOp::sync);
  request.flags = data_only ? 1 : 0;
  request.quiet = true;
  return perform_io(request);
}

std::uint64_t File::size() const {
  IoRequest request = descriptor_.request(IoOp::size);
  return checked(perform_io(request), "size");
}

void File::truncate(std::uint64_t size) {
  IoRequest request = descriptor_.request(IoOp::truncate);
  request.offset = static_cast<std::int64_t>(size);
  (void)checked(perform_io(request), "truncate");
}

std::string read_file(const std::string& path) {
  File file = File::open(path);
  std::string text;
  std::size_t got = 0;
  text.resize(file.size() + 1);  // one more, to see the end by the same read
  while (const std::size_t n = file.read(Room(text.data() + got, text.size() - got))) {
    got += n;
    if (got == text.size()) text.resize(2 * got);
  }
  text.resize(got);
  return text;
}

void write_file(const std::string& path, Bytes bytes) {
  File file = File::open(path, {.write = true, .create = true, .truncate = true});
  file.write(bytes);
  file.close();
}

void remove_file(const std::string& path) {
  change_path(IoOp::remove, "remove", path, nullptr, 0, 0);
}

void remove_directory(const std::string& path) {
  change_path(IoOp::remove, "remove", path, nullptr, 1, 0);
}

void rename_file(const std::string& from, const std::string& to) {
  change_path(IoOp::rename, "rename", from, to.c_str(), 0, 0);
}

void make_directory(const std::string& path, std::uint32_t mode) {
  change_path(IoOp::make_dir, "make_directory", path, nullptr, 0, mode);
}

}  // namespace weft::inline v0

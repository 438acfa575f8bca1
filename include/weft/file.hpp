// SPDX-License-Identifier: MIT
// What: files and directories, without holding a worker.
//
//   weft::File log = weft::File::open("log.txt", {.write = true, .create = true, .append = true});
//   log.write("a line\n");
//   log.sync();
//
// x() throws std::system_error, or Cancelled before it has begun; x_result throws nothing. A disk is not waited for
// with a deadline: what has begun ends. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/detail/descriptor.hpp"

namespace weft::inline v0 {

struct OpenOptions {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // it must not exist
  bool truncate = false;
  bool append = false;  // each write goes to the end, and is meant to be written
  std::uint32_t mode = 0644;
};

class File {
 public:
  File() = default;
  static File open(const std::string& path, const OpenOptions& options = {.read = true});
  static IoResult open_result(File& into, const std::string& path, const OpenOptions& options = {.read = true});

  bool is_open() const { return descriptor_.is_open(); }
  int fd() const { return descriptor_.fd(); }
  void close();
  IoResult close_result() noexcept { return descriptor_.close(); }

  // From the file's own position, which moves on. 0: the end.
  std::size_t read(Room room);
  IoResult read_result(Room room);
  // All of it.
  void write(Bytes bytes);
  IoResult write_result(Bytes bytes);  // some of it
  // Without the position.
  std::size_t read_at(Room room, std::uint64_t offset);
  IoResult read_at_result(Room room, std::uint64_t offset);
  void write_at(Bytes bytes, std::uint64_t offset);
  IoResult write_at_result(Bytes bytes, std::uint64_t offset);

  // Until it is on the disk; `data_only`: not its times.
  void sync(bool data_only = false);
  IoResult sync_result(bool data_only = false);
  std::uint64_t size() const;
  void truncate(std::uint64_t size);

 private:
  IoResult transfer(IoOp op, const void* data, std::size_t size, std::uint64_t offset, bool quiet);
  detail::Descriptor descriptor_;
};

struct DirectoryEntry {
  enum class Kind : std::uint8_t { file, directory, link, other, unknown };
  std::string name;
  Kind kind = Kind::unknown;
};
// Without . and .., sorted by name.
std::vector<DirectoryEntry> list_directory(const std::string& path);

std::string read_file(const std::string& path);
void write_file(const std::string& path, Bytes bytes);  // makes it, or replaces what is in it
void remove_file(const std::string& path);
void remove_directory(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
void make_directory(const std::string& path, std::uint32_t mode = 0755);

}  // namespace weft::inline v0

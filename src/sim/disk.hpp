// SPDX-License-Identifier: MIT
// What: the files of a simulated host, in memory. Reads and writes may be short, fail (EIO), or find no room (ENOSPC);
// each takes a little time. lose_unsynced() is a power failure: what a file holds goes back to its last sync, a name
// that was made, changed or removed stays so (as with a journal). Threads: the one that drives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {

class Disk {
 public:
  Disk(Fate& fate, SimDescriptors& descriptors, const sim::FileOptions& options);

  long perform_path(IoRequest& request);  // open, remove, rename, make_dir
  void lose_unsynced();

 private:
  friend struct SimFile;
  struct Inode {
    bool directory = false;
    std::string bytes;
    std::string synced;
  };
  using InodeRef = std::shared_ptr<Inode>;

  long open(const IoRequest& request);
  long remove(const std::string& path, bool directory);
  long rename(const std::string& from, const std::string& to);
  long make_directory(const std::string& path);
  InodeRef find(const std::string& path) const;
  bool has_parent(const std::string& path) const;
  bool is_empty(const std::string& path) const;
  std::vector<std::pair<std::string, bool>> entries(const std::string& path) const;
  void take_time(const char* kind);

  Fate& fate_;
  SimDescriptors& descriptors_;
  const sim::FileOptions options_;
  std::map<std::string, InodeRef> names_;  // "/a/b"; "/" is there
};

// An open file or directory.
struct SimFile final : SimNode {
  SimFile(Disk& where, std::string at, Disk::InodeRef what)
      : disk(where), path(std::move(at)), inode(std::move(what)) {}
  std::string about() const override { return "file " + path; }
  void close() override {}
  long perform(IoRequest& request);

  Disk& disk;
  std::string path;
  Disk::InodeRef inode;
  std::size_t position = 0;
  bool reads = false;
  bool writes = false;
  bool appends = false;

 private:
  long read(const IoRequest& request, std::size_t at, std::size_t& moved);
  long write(const IoRequest& request, std::size_t at, std::size_t& moved);
  long list(const IoRequest& request);
};

}  // namespace weft::inline v0::detail

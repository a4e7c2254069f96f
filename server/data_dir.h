// The daemon's directory: mnistd.sqlite3, models/<id>.safetensors, cache/, and lock, held while the daemon lives so that a second
// one refuses to start on the same directory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "server/errors.h"

namespace mnistd::server {

class DataDir {
 public:
  // Creates the directory where missing and locks it. Throws StartError: not a directory, not writable, in use (with the
  // process id of the holder).
  explicit DataDir(std::filesystem::path path);
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;
  ~DataDir();

  // Throws StoreError where the lock or the folder of weights was taken away since: a second daemon could start here, or a
  // model could not be stored. Any thread.
  void check() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path database() const { return path_ / "mnistd.sqlite3"; }
  std::filesystem::path weights(const std::string& model_id) const;
  // What can be worked out again: the folder, and a file in it. Neither need exist.
  std::filesystem::path cache() const { return path_ / "cache"; }
  std::filesystem::path cache(const std::string& file) const { return cache() / file; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

// Writes to a temporary name, syncs, renames, syncs the directory: after a crash the old file or the new one, whole.
// Throws StoreError with the reason (disk full).
void write_file_atomically(const std::filesystem::path& file, std::string_view bytes);

// The bytes of a plain file of at most `limit` bytes. Throws StoreError "file …: …" on anything else (a directory, a device, a
// pipe; also through a link), before any of it is read.
std::string read_plain_file(const std::filesystem::path& file, std::size_t limit);

}  // namespace mnistd::server

// What the tests of server/ share: directories, datasets, jobs, a disk that is full.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/daemon.h"

namespace mnistd::server {

// A directory of its own, removed with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// While it lives, every write of this process to a file fails, as on a full disk (a file size limit of one byte; the
// reason is then "File too large"). Pipes and sockets are not files.
class FullDisk {
 public:
  FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { heal(); }
  void heal();

 private:
  std::uint64_t before_;
};

// Writes the four IDX files of a dataset of random noisy pictures; the same seed gives the same bytes.
void write_dataset(const std::filesystem::path& directory, int train_count = 60, int test_count = 40,
                   std::uint32_t seed = 1);

DaemonOptions daemon_options(
    const TemporaryDirectory& directory);  // data in data/, dataset in mnist/, CPU, no first training
JobSpec spec_of(int iterations, double learning_rate = 0.001, int report_every = 1);
Job queued_job(const JobSpec& spec = {});  // as submit makes it
JobProgress progress_at(int iteration, std::optional<double> loss = std::nullopt);
model::MetricsRow row_of(int iteration);  // with values that tell iterations apart

// Long, for sanitizers on a busy machine; what is promised to be quick is measured where it is tested.
inline constexpr std::chrono::seconds kPatience{240};

// Looks every millisecond; false after `patience`.
bool eventually(const std::function<bool()>& condition, std::chrono::seconds patience = kPatience);
Job wait_for_end(Daemon& daemon, const std::string& id);

// All events of a job as a follower sees them, `limit` at a time, waiting for each until the end.
std::vector<JobEvent> follow(Daemon& daemon, const std::string& id, int limit, EventPosition after = {});

std::string read_file(const std::filesystem::path& file);
// The message of the E that `call` throws; empty where it throws none.
template <class E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace mnistd::server

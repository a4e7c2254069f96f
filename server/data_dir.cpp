#include "server/data_dir.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mnistd::server {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// The process id that the holder of the lock wrote into it; empty where it did not (yet).
std::string holder(int lock) {
  char text[32] = {};
  const ssize_t size = pread(lock, text, sizeof text - 1, 0);
  const std::string_view digits(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(digits.substr(0, digits.find_first_not_of("0123456789")));
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int take_lock(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "lock";
  const auto not_writable = [&](int error) {
    return StartError("data dir " + directory.string() + " is not writable: " + reason(error) +
                      "; let this user write it or give another --data-dir");
  };
  const int lock = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) throw not_writable(errno);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string process = holder(lock);
    close(lock);
    if (error != EWOULDBLOCK) {
      throw StartError("data dir " + directory.string() + " cannot be locked: " + reason(error) +
                       "; give another --data-dir");
    }
    throw StartError("data dir " + directory.string() + " is in use by " +
                     (process.empty() ? "another process" : "process " + process) +
                     "; stop it or give another --data-dir");
  }
  const std::string process = std::to_string(getpid()) + "\n";
  if (ftruncate(lock, 0) != 0 || !write_all(lock, process)) {
    const int error = errno;
    close(lock);
    throw not_writable(error);
  }
  return lock;
}

// A descriptor that closes itself; a failed write is told by the caller.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : number_(open(path.c_str(), flags, 0644)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  bool is_open() const { return number_ >= 0; }
  bool write(std::string_view bytes) { return write_all(number_, bytes); }
  bool sync() { return fsync(number_) == 0; }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

DataDir::DataDir(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (std::filesystem::exists(path_) && !std::filesystem::is_directory(path_)) {
    throw StartError("data dir " + path_.string() + " is a file, not a directory; give another --data-dir");
  }
  if (error) {
    throw StartError("data dir " + path_.string() + " cannot be created: " + error.message() +
                     "; create it or give another --data-dir");
  }
  lock_ = take_lock(path_);
  std::filesystem::create_directories(path_ / "models", error);
  if (error) {
    close(lock_);
    throw StartError("data dir " + path_.string() + " is not writable: cannot create models: " +
                     error.message() + "; let this user write it or give another --data-dir");
  }
}

// The lock goes with its descriptor. The file stays: removing it would let two daemons lock two files of one name.
DataDir::~DataDir() { close(lock_); }

void DataDir::check() const {
  const std::filesystem::path lock = path_ / "lock", models = path_ / "models";
  struct stat held {
  }, named{};
  if (fstat(lock_, &held) != 0 || stat(lock.c_str(), &named) != 0 || held.st_dev != named.st_dev ||
      held.st_ino != named.st_ino) {
    throw StoreError("file " + lock.string() +
                     " was removed or replaced while the daemon runs, so that a second one " +
                     "could start here; start this one again");
  }
  std::error_code error;
  if (!std::filesystem::is_directory(models, error)) {
    throw StoreError("directory " + models.string() + " was removed while the daemon runs; make it again");
  }
}

std::filesystem::path DataDir::weights(const std::string& model_id) const {
  return path_ / "models" / (model_id + ".safetensors");
}

void write_file_atomically(const std::filesystem::path& file, std::string_view bytes) {
  // Two threads that write one file must not share a temporary name; the last rename wins.
  static std::atomic<unsigned> serial{0};
  const std::filesystem::path partial = file.string() + "." + std::to_string(++serial) + ".partial";
  const auto fail = [&] {
    const int error = errno;
    unlink(partial.c_str());
    throw StoreError("cannot write " + file.string() + ": " + reason(error));
  };
  {
    Descriptor out(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (!out.is_open() || !out.write(bytes) || !out.sync()) fail();
  }
  if (rename(partial.c_str(), file.c_str()) != 0) fail();
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  Descriptor entry(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!entry.is_open() || !entry.sync()) {
    throw StoreError("cannot write " + file.string() + ": its directory: " + reason(errno));
  }
}

std::string read_plain_file(const std::filesystem::path& file, std::size_t limit) {
  const auto fail = [&](const std::string& what) {
    throw StoreError("file " + file.string() + " cannot be read: " + what);
  };
  const Descriptor in(file,
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hold us up
  struct stat found {};
  if (!in.is_open() || fstat(in.number(), &found) != 0) fail(reason(errno));
  if (!S_ISREG(found.st_mode)) fail("it is no plain file");
  if (static_cast<std::uint64_t>(found.st_size) > limit) {
    fail("it holds " + std::to_string(found.st_size) + " bytes; expected at most " + std::to_string(limit));
  }
  std::string bytes(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = read(in.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(reason(errno));
    if (count == 0) break;  // cut off meanwhile
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace mnistd::server

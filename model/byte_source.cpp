#include "model/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "model/idx_file.h"

namespace mnistd::model {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
// Deflate spends at least one bit on 129 bytes (a length and a distance code of one bit each give 258).
constexpr std::uint64_t kMostDeflated = 1032;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw DatasetError(file.string() + ": " + what);
}

std::string system_message(int error) { return std::strerror(error); }

// An open regular file that is read from front to back.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path) : path_(path) {
    // Not blocking, so that a pipe of that name cannot hold us; a regular file does not care.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) {
      const int error = errno;
      if (error == ENOENT) fail(path, "no such file; script/bootstrap fetches the MNIST files");
      fail(path, "cannot be opened: " + system_message(error));
    }
    struct stat status {};
    const bool known = ::fstat(descriptor_, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      fail(path, known && S_ISDIR(status.st_mode) ? "is a directory; expected an IDX file"
                                                  : "is not a regular file; expected an IDX file");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { ::close(descriptor_); }

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t left() const { return size_ > position_ ? size_ - position_ : 0; }

  std::size_t read(std::span<std::uint8_t> destination) {
    std::size_t done = 0;
    while (done < destination.size()) {
      const ssize_t count = ::read(descriptor_, destination.data() + done, destination.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail(path_, "cannot be read: " + system_message(errno));
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    position_ += done;
    return done;
  }

  void rewind() {
    if (::lseek(descriptor_, 0, SEEK_SET) < 0) fail(path_, "cannot be read: " + system_message(errno));
    position_ = 0;
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

class RawSource final : public ByteSource {
 public:
  explicit RawSource(std::unique_ptr<InputFile> file) : file_(std::move(file)) {}
  std::size_t read(std::span<std::uint8_t> destination) override { return file_->read(destination); }
  std::uint64_t at_most_left() const override { return file_->left(); }
  bool is_raw() const override { return true; }

 private:
  std::unique_ptr<InputFile> file_;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<InputFile> file) : file_(std::move(file)), packed_(kChunk) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) fail(file_->path(), "zlib cannot be started");
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::uint8_t> destination) override {
    std::size_t done = 0;
    while (done < destination.size() && !ended_) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0) {
        // Between two members the file may end; within one it may not.
        if (member_ended_)
          ended_ = true;
        else
          fail(file_->path(), "its gzip stream ends too early (the file is truncated at " +
                                  std::to_string(file_->size()) + " bytes); fetch it again");
        break;
      }
      if (member_ended_) begin_next_member();
      done += inflate_into(destination.subspan(done));
    }
    return done;
  }

  std::uint64_t at_most_left() const override {
    return (file_->left() + stream_.avail_in) * kMostDeflated + kChunk;
  }
  bool is_raw() const override { return false; }

 private:
  void refill() {
    stream_.avail_in = static_cast<uInt>(file_->read(packed_));
    stream_.next_in = packed_.data();
  }

  void begin_next_member() {
    // The second byte of the magic may stand in the next chunk; inflate looks at it again.
    if (stream_.next_in[0] != 0x1f) {
      const std::uint64_t left = file_->left() + stream_.avail_in;
      fail(file_->path(),
           std::to_string(left) + " bytes that are not gzip follow its gzip stream; fetch it again");
    }
    inflateReset(&stream_);
    member_ended_ = false;
  }

  std::size_t inflate_into(std::span<std::uint8_t> destination) {
    const std::size_t room = std::min<std::size_t>(destination.size(), 1u << 30);
    stream_.next_out = destination.data();
    stream_.avail_out = static_cast<uInt>(room);
    const int outcome = inflate(&stream_, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) {
      member_ended_ = true;
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      const std::string reason = stream_.msg != nullptr ? stream_.msg : zError(outcome);
      fail(file_->path(), "its gzip stream is damaged (" + reason + "); fetch it again");
    }
    return room - stream_.avail_out;
  }

  std::unique_ptr<InputFile> file_;
  std::vector<std::uint8_t> packed_;
  z_stream stream_{};
  bool member_ended_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_byte_source(const std::filesystem::path& path) {
  auto file = std::make_unique<InputFile>(path);
  std::uint8_t magic[2] = {};
  const std::size_t count = file->read(magic);
  file->rewind();
  if (count == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
    return std::make_unique<GzipSource>(std::move(file));
  return std::make_unique<RawSource>(std::move(file));
}

}  // namespace mnistd::model

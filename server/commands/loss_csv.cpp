#include "server/commands/loss_csv.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mnistd::commands {
namespace {

void append_number(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// What a file made in the usual way would have; mkostemp makes it readable by its owner only.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

LossCsv::LossCsv(const std::filesystem::path& file) : file_(file), temporary_(file.string() + ".XXXXXX") {
  if (std::filesystem::is_directory(file_)) fail(EISDIR);
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
}

LossCsv::~LossCsv() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void LossCsv::write(std::span<const model::MetricsRow> rows) {
  std::string text = "iteration,loss,train_accuracy,test_accuracy,elapsed_ms\n";
  for (const model::MetricsRow& row : rows) {
    text += std::to_string(row.iteration);
    for (const double value : {row.loss, row.train_accuracy, row.test_accuracy, row.elapsed_ms}) {
      text += ',';
      append_number(text, value);
    }
    text += '\n';
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    done += static_cast<std::size_t>(count);
  }
  if (::fchmod(descriptor_, usual_mode()) != 0 || ::fsync(descriptor_) != 0) fail(errno);
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void LossCsv::fail(int error) const {
  throw std::runtime_error("cannot write " + std::filesystem::absolute(file_).string() + ": " +
                           std::strerror(error) + "; run it in a directory where it can");
}

}  // namespace mnistd::commands

// loss.csv: what a training reported, for a spreadsheet or a plot.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "model/trainer.h"

namespace mnistd::commands {

// A file that appears whole or not at all: written under another name beside it, then renamed. The constructor makes
// that other file, so that a directory that cannot be written to is known before the training and not after it.
class LossCsv {
 public:
  explicit LossCsv(const std::filesystem::path& file);  // throws std::runtime_error that says why
  LossCsv(const LossCsv&) = delete;
  LossCsv& operator=(const LossCsv&) = delete;
  ~LossCsv();

  // Once. Throws std::runtime_error; what was in `file` before is then still there.
  void write(std::span<const model::MetricsRow> rows);

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  std::string temporary_;  // empty once it is renamed
  int descriptor_ = -1;
};

}  // namespace mnistd::commands

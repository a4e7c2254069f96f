// The benchmark's report for people, as it comes: at most 100 columns.
#pragma once

#include <cstdio>
#include <string>

#include "gpu/bench/bench.h"

namespace mnistd::gpu::bench {

class TextReport final : public BenchObserver {
 public:
  explicit TextReport(std::FILE* out) : out_(out) {}
  void on_device(const Report& report) override;
  void on_row(const Row& row) override;
  void on_training(const Training& training) override;
  void end(const Report& report);

 private:
  std::FILE* out_;
  bool began_ = false;
  std::string kernel_, source_;  // of the heading above
};

}  // namespace mnistd::gpu::bench

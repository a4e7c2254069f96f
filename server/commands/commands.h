// The subcommands of the program, one file each; main.cpp reads the command line into these options.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/bench.h"
#include "gpu/device.h"
#include "server/daemon.h"

namespace mnistd::commands {

// Exit codes: 0 done, 1 failed, 2 wrong usage. What goes wrong is told on stderr in one line.

struct ShowOptions {
  std::filesystem::path dataset;
  std::string split = "test";
  int index = 0;
};
int run_show(const ShowOptions& options);

struct TrainOptions {
  std::filesystem::path dataset;
  int iterations = 100;
  std::optional<double> learning_rate = 0.01;  // nothing: half the dataset's stability limit
  model::SolverKind solver = model::SolverKind::gemm;
  gpu::DeviceOptions device;
};
int run_train(const TrainOptions& options);

struct SelftestOptions {
  gpu::DeviceOptions device;
  bool quick = false;  // small sizes only, no times
};
// 0 if every operation and the training are right.
int run_selftest(const SelftestOptions& options);

struct BenchCommandOptions {
  gpu::bench::BenchOptions bench;
  std::optional<std::filesystem::path> dataset;  // none: data/mnist if it is there, else random bytes
  bool random = false;                           // random bytes only
  bool json = false;
  std::optional<std::filesystem::path> json_file;  // beside the text
};
// 0 if every operation is right.
int run_bench(const BenchCommandOptions& options);

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8906;  // 0: a free one
  std::optional<std::filesystem::path> port_file, api_key_file;
  std::vector<std::string> allowed_origins;
  std::string log_level = "info";
  std::string log_format = "text";  // or "json"
  server::DaemonOptions daemon;
};
int run_serve(const ServeOptions& options);

}  // namespace mnistd::commands

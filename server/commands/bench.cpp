// mnistd bench: checks, then times, every operation of a device and every variant that it can be made to use.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/bench/report_json.h"
#include "gpu/bench/report_text.h"
#include "model/dataset.h"
#include "server/commands/commands.h"
#include "server/commands/utc_now.h"

namespace mnistd::commands {
namespace {

namespace bench = gpu::bench;

constexpr int kUsualImages = 60'000;
const std::filesystem::path kUsualDataset = "data/mnist";

// The training images of the dataset that is asked for, or that lies where MNIST usually does.
std::optional<bench::HostImages> images_of_dataset(const BenchCommandOptions& options) {
  if (options.random) return std::nullopt;
  const std::filesystem::path directory = options.dataset.value_or(kUsualDataset);
  if (!options.dataset && !std::filesystem::exists(directory)) return std::nullopt;
  const auto dataset = model::load_dataset("bench", directory);
  return bench::HostImages{directory.string(), dataset->train.pixels, dataset->train.labels};
}

// For --json: nothing until the end.
struct Silence final : bench::BenchObserver {
  void on_device(const bench::Report&) override {}
  void on_row(const bench::Row&) override {}
  void on_training(const bench::Training&) override {}
};

int tell_unwritable(const std::filesystem::path& file) {
  std::cerr << "mnistd: cannot write " << file.string() << '\n';
  return 1;
}

}  // namespace

int run_bench(const BenchCommandOptions& options) {
  // Opened first: what took minutes is not to be lost for a name that can't be.
  std::ofstream json_file;
  if (options.json_file) {
    json_file.open(*options.json_file);
    if (!json_file) return tell_unwritable(*options.json_file);
  }
  std::vector<bench::HostImages> inputs;
  if (auto images = images_of_dataset(options)) inputs.push_back(std::move(*images));
  // Random bytes have no blanks: beside real images they tell what a kernel gains by those.
  const int images = options.bench.images > 0 ? options.bench.images
                     : inputs.empty()         ? kUsualImages
                                              : inputs[0].count();
  if (inputs.empty() || options.bench.variants)
    inputs.push_back(bench::random_images(std::min(images, kUsualImages)));
  std::vector<const bench::HostImages*> pointers;
  for (const bench::HostImages& input : inputs) pointers.push_back(&input);
  bench::BenchOptions chosen = options.bench;
  chosen.images = images;

  try {
    if (options.json) {
      Silence silence;
      const bench::Report report = bench::run_bench(chosen, pointers, silence);
      std::cout << bench::json_of(report, MNISTD_VERSION, utc_now()) << std::flush;
      return report.right() && std::cout.good() ? 0 : 1;
    }
    std::printf("mnistd bench, version %s, %s\n", MNISTD_VERSION, utc_now().c_str());
    bench::TextReport text(stdout);
    const bench::Report report = bench::run_bench(chosen, pointers, text);
    text.end(report);
    if (options.json_file) {
      json_file << bench::json_of(report, MNISTD_VERSION, utc_now()) << std::flush;
      if (!json_file) return tell_unwritable(*options.json_file);
    }
    return report.right() && std::ferror(stdout) == 0 ? 0 : 1;
  } catch (const std::invalid_argument& wrong) {
    std::cerr << "mnistd: " << wrong.what() << '\n';
    return 2;
  }
}

}  // namespace mnistd::commands

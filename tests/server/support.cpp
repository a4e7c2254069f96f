#include "tests/server/support.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <thread>

#include <stdlib.h>
#include <sys/resource.h>

namespace mnistd::server {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "mnistd-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

FullDisk::FullDisk() {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  before_ = limit.rlim_cur;
  limit.rlim_cur = 1;
  setrlimit(RLIMIT_FSIZE, &limit);
}

void FullDisk::heal() {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = before_;
  setrlimit(RLIMIT_FSIZE, &limit);
}

namespace {

void write_idx(const std::filesystem::path& file, const std::vector<std::uint32_t>& dimensions,
               const std::vector<std::uint8_t>& values) {
  std::ofstream out(file, std::ios::binary);
  const auto put = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(value >> shift & 0xff));
  };
  put(0x0800 + static_cast<std::uint32_t>(dimensions.size()));
  for (const std::uint32_t dimension : dimensions) put(dimension);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size()));
}

}  // namespace

void write_dataset(const std::filesystem::path& directory, int train_count, int test_count,
                   std::uint32_t seed) {
  std::filesystem::create_directories(directory);
  std::mt19937 random(seed);
  std::vector<std::uint8_t> pictures(10 * 784);
  for (auto& pixel : pictures) pixel = random() % 5 == 0 ? static_cast<std::uint8_t>(random() % 256) : 0;
  for (const auto& [stem, count] : {std::pair{"train", train_count}, std::pair{"t10k", test_count}}) {
    std::vector<std::uint8_t> pixels, labels;
    for (int i = 0; i < count; ++i) {
      const unsigned label = random() % 10;
      labels.push_back(static_cast<std::uint8_t>(label));
      for (int pixel = 0; pixel < 784; ++pixel) {
        const bool noise = random() % 4 == 0;
        pixels.push_back(noise ? static_cast<std::uint8_t>(random() % 200) : pictures[label * 784 + pixel]);
      }
    }
    const auto images = static_cast<std::uint32_t>(count);
    write_idx(directory / (std::string(stem) + "-images-idx3-ubyte"), {images, 28, 28}, pixels);
    write_idx(directory / (std::string(stem) + "-labels-idx1-ubyte"), {images}, labels);
  }
}

DaemonOptions daemon_options(const TemporaryDirectory& directory) {
  const std::filesystem::path dataset = directory.path() / "mnist";
  if (!std::filesystem::exists(dataset)) write_dataset(dataset);
  DaemonOptions options;
  options.data_dir = directory.path() / "data";
  options.datasets = {{"mnist", dataset}};
  options.device.backend = gpu::Backend::cpu;
  options.device.threads = 1;
  options.first_training = false;
  options.eager_spectra = false;  // half a second each
  return options;
}

JobSpec spec_of(int iterations, double learning_rate, int report_every) {
  JobSpec spec;
  spec.train.iterations = iterations;
  spec.train.learning_rate = learning_rate;
  spec.train.report_every = report_every;
  return spec;
}

Job queued_job(const JobSpec& spec) {
  Job job;
  job.created_at = now();
  job.id = new_job_id(job.created_at);
  job.spec = spec;
  job.device = "a device";
  return job;
}

JobProgress progress_at(int iteration, std::optional<double> loss) {
  JobProgress progress;
  progress.iteration = iteration;
  progress.loss = loss;
  return progress;
}

model::MetricsRow row_of(int iteration) {
  return {.iteration = iteration,
          .loss = 1.0 / iteration,
          .train_accuracy = iteration * 1e-7,
          .test_accuracy = iteration * 1e-8,
          .elapsed_ms = iteration * 0.1};
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Job wait_for_end(Daemon& daemon, const std::string& id) {
  if (!eventually([&] { return has_ended(daemon.job(id).state); }))
    throw std::runtime_error("job did not end");
  return daemon.job(id);
}

std::vector<JobEvent> follow(Daemon& daemon, const std::string& id, int limit, EventPosition after) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::vector<JobEvent> all;
  for (;;) {
    const std::uint64_t seen = daemon.log().version();
    const std::vector<JobEvent> events = daemon.events(id, after, limit);
    if (static_cast<int>(events.size()) > limit) throw std::runtime_error("more events than asked for");
    all.insert(all.end(), events.begin(), events.end());
    if (!events.empty()) {
      after = events.back().position;
      if (after.rank == EventPosition::end) return all;
      continue;
    }
    if (daemon.log().is_closed()) return all;
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the stream did not end");
    daemon.log().wait(seen, deadline);
  }
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace mnistd::server

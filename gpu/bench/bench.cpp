#include "gpu/bench/bench.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace mnistd::gpu::bench {
namespace {

// Beside the number that is timed: around the edges of tiles and chunks.
constexpr int kSmallSizes[] = {1, 65, 513};
constexpr int kQuickSizes[] = {1};
constexpr int kTrainingIterations = 300;
constexpr int kQuickIterations = 5;
constexpr float kTrainingRate = 0.01f;  // which some datasets are unstable at: those take Truth::safe_rate

class Run {
 public:
  Run(const BenchOptions& options, const std::vector<const HostImages*>& inputs, BenchObserver& observer)
      : options_(options), inputs_(inputs), observer_(observer) {}

  Report report() {
    require_known_operations();
    const auto device = Device::open(options_.device);
    const HostImages& host = *inputs_.front();
    report_.device = device->info();
    report_.source = host.source;
    report_.host_images = host.count();
    report_.images = options_.images > 0 ? options_.images : host.count();
    report_.limits = device->measure_limits();
    observer_.on_device(report_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) work_through(*device, *inputs_[i], i == 0);
    return report_;
  }

 private:
  void require_known_operations() const {
    for (const std::string& name : options_.operations) {
      std::string names;
      for (const Operation& operation : operations())
        names += (names.empty() ? "" : ", ") + std::string(operation.name);
      if (std::none_of(operations().begin(), operations().end(),
                       [&](const Operation& operation) { return operation.name == name; }))
        throw std::invalid_argument("there is no operation '" + name + "': choose from " + names);
    }
  }

  bool wanted(const Operation& operation) const {
    const auto& names = options_.operations;
    return names.empty() || std::find(names.begin(), names.end(), operation.name) != names.end();
  }

  void work_through(Device& device, const HostImages& host, bool first_input) {
    const Truth truth(host, report_.images);
    std::vector<const Operation*> chosen;
    for (const Operation& operation : operations()) {
      if (wanted(operation) && (first_input || operation.reads_pixels)) chosen.push_back(&operation);
    }
    rows_of(device, host, truth, options_.device.kernel, chosen, first_input);
    if (first_input) train(device, host, truth);
    if (!first_input || !options_.variants || !options_.device.kernel.empty()) return;
    for (const std::string& kernel : device.info().kernels) {
      std::vector<const Operation*> of_kernel;
      for (const Operation* operation : operations_of(kernel)) {
        if (wanted(*operation)) of_kernel.push_back(operation);
      }
      if (of_kernel.empty()) continue;
      DeviceOptions forced = options_.device;
      forced.kernel = kernel;
      const auto opened = Device::open(forced);
      rows_of(*opened, host, truth, kernel, of_kernel, false);
    }
  }

  // measure_memory: the device is fresh, and it is the one whose scratch memory is told.
  void rows_of(Device& device, const HostImages& host, const Truth& truth, const std::string& kernel,
               const std::vector<const Operation*>& chosen, bool measure_memory) {
    const ResidentImages resident(device, host, report_.images);
    Workbench bench(device, resident.view(), truth);
    if (measure_memory) report_.memory.images = resident.bytes();
    for (const Operation* operation : chosen) {
      Row row;
      row.operation = operation->name;
      row.kernel = kernel;
      row.source = host.source;
      row.work = operation->work(report_.images);
      row.bound = bound_of(row.work, report_.limits);
      row.faults = faults_of([&] { return operation->faults(bench); });
      if (measure_memory && operation->name == "descend")
        report_.memory.gemm_scratch = device.scratch_bytes();
      check_small_sizes(device, host, *operation, row.faults);
      if (row.faults.empty())
        row.timing = time_operation(bench, *operation, options_.quick ? kQuick : kThorough);
      report_.rows.push_back(row);
      observer_.on_row(report_.rows.back());
    }
    if (measure_memory) report_.memory.all_scratch = device.scratch_bytes();
  }

  // A call that the device refuses is a fault like any other; a lost device ends all.
  template <class Function>
  static std::vector<std::string> faults_of(Function&& function) {
    try {
      return function();
    } catch (const DeviceLost&) {
      throw;
    } catch (const DeviceError& error) {
      return {error.what()};
    }
  }

  void check_small_sizes(Device& device, const HostImages& host, const Operation& operation,
                         std::vector<std::string>& faults) {
    const auto check = [&](int size) {
      if (size >= report_.images || size > host.count()) return;
      const ResidentImages resident(device, host, size);
      Workbench bench(device, resident.view(), small_truth(host, size));
      for (const std::string& fault : faults_of([&] { return operation.faults(bench); }))
        faults.push_back("of " + std::to_string(size) + " images: " + fault);
    };
    if (options_.quick) {
      for (int size : kQuickSizes) check(size);
    } else {
      for (int size : kSmallSizes) check(size);
    }
  }

  const Truth& small_truth(const HostImages& host, int size) {
    for (const SmallTruth& known : small_truths_) {
      if (known.host == &host && known.truth->images() == size) return *known.truth;
    }
    small_truths_.push_back({&host, std::make_unique<Truth>(host, size)});
    return *small_truths_.back().truth;
  }

  void train(Device& device, const HostImages& host, const Truth& truth) {
    const int usual = options_.quick ? kQuickIterations : kTrainingIterations;
    const int iterations = options_.iterations < 0 ? usual : options_.iterations;
    if (iterations == 0) return;
    const bool stable = kTrainingRate < truth.largest_stable_rate();
    const float rate = stable ? kTrainingRate : truth.safe_rate();
    std::optional<Descent> expected;
    const ResidentImages resident(device, host, report_.images);
    Workbench bench(device, resident.view(), truth);
    bench.rate = rate;
    for (const char* solver : {"gemm", "gram"}) {
      const std::string name = std::string(solver) == "gemm" ? "descend" : "gram_descend";
      const auto operation = std::find_if(operations().begin(), operations().end(),
                                          [&](const Operation& each) { return each.name == name; });
      const bool faulty = std::any_of(report_.rows.begin(), report_.rows.end(), [&](const Row& row) {
        return row.operation == name && !row.faults.empty();
      });
      if (!wanted(*operation) || faulty) continue;
      if (!expected) expected = truth.descend(rate, iterations);
      report_.trainings.push_back(trained(bench, *operation, solver, iterations, *expected));
      observer_.on_training(report_.trainings.back());
    }
  }

  Training trained(Workbench& bench, const Operation& operation, const char* solver, int iterations,
                   const Descent& expected) {
    Training training;
    training.solver = solver;
    training.iterations = iterations;
    training.rate = bench.rate;
    training.expected_loss = expected.final_squared_residual.value / report_.images;
    training.faults = faults_of([&] {
      bench.by_weight.fill(bench.truth.initial_weights());
      const Event begin = bench.device.record();
      operation.launch(bench, iterations);
      training.milliseconds = bench.device.elapsed_ms(begin, bench.device.record()) / iterations;
      // The loss of the weights that came out, by the images themselves.
      bench.statistics.poison();
      bench.device.ops().residual(bench.images, bench.by_weight.data(), bench.by_image().data(),
                                  bench.statistics.data());
      training.loss = bench.statistics.values().front().squared_residual / report_.images;
      return std::vector<std::string>{};
    });
    const double off = std::abs(training.loss - training.expected_loss) / training.expected_loss;
    if (training.faults.empty() && !(off <= 1e-5)) {
      training.faults.push_back("the loss is " + std::to_string(training.loss) + ", float64 has " +
                                std::to_string(training.expected_loss));
    }
    return training;
  }

  struct SmallTruth {
    const HostImages* host;
    std::unique_ptr<Truth> truth;
  };

  const BenchOptions& options_;
  const std::vector<const HostImages*>& inputs_;
  BenchObserver& observer_;
  Report report_;
  std::vector<SmallTruth> small_truths_;
};

}  // namespace

Bound bound_of(const Work& work, const Limits& limits) {
  Bound bound;
  const auto consider = [&](double amount, double limit, const char* by) {
    const double milliseconds = amount / limit * 1e3;
    if (milliseconds > bound.milliseconds) bound = {milliseconds, by};
  };
  consider(work.bytes, limits.bytes, "bytes of memory");
  consider(work.flops, limits.flops, "fp32");
  consider(work.byte_operations, limits.byte_operations, "byte products");
  return bound;
}

bool Report::right() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.faults.empty(); }) &&
         std::all_of(trainings.begin(), trainings.end(),
                     [](const Training& training) { return training.faults.empty(); });
}

Report run_bench(const BenchOptions& options, const std::vector<const HostImages*>& inputs,
                 BenchObserver& observer) {
  return Run(options, inputs, observer).report();
}

}  // namespace mnistd::gpu::bench

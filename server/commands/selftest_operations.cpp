#include "server/commands/selftest_operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace mnistd::commands {
namespace {

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// A result in device memory, poisoned before and guarded on both sides.
template <class T>
class Output {
 public:
  Output(gpu::Device& device, std::size_t count, T poison)
      : buffer_(device, count + 2 * kGuard), poison_(poison) {
    buffer_.upload(std::vector<T>(count + 2 * kGuard, poison));
  }
  T* data() { return buffer_.data() + kGuard; }
  void fill(const std::vector<T>& values) {
    std::vector<T> all(buffer_.size(), poison_);
    std::copy(values.begin(), values.end(), all.begin() + kGuard);
    buffer_.upload(all);
  }
  // Adds a fault where something was written beside the result.
  std::vector<T> values(const std::string& where, std::vector<std::string>& faults) const {
    const std::vector<T> all = buffer_.to_vector();
    const auto touched = [this](const T& value) { return std::memcmp(&value, &poison_, sizeof(T)) != 0; };
    if (std::any_of(all.begin(), all.begin() + kGuard, touched))
      faults.push_back(where + "wrote before its result");
    if (std::any_of(all.end() - kGuard, all.end(), touched))
      faults.push_back(where + "wrote behind its result");
    return {all.begin() + kGuard, all.end() - kGuard};
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;  // keeps the alignment of the buffer
  gpu::Buffer<T> buffer_;
  T poison_;
};

// A case's inputs on the device, and places for the results.
struct Resident {
  Resident(gpu::Device& device, const SelftestCase& inputs)
      : pixels(device, inputs.pixels),
        labels(device, inputs.labels),
        weights(device, inputs.weights),
        given_residual(device, inputs.given_residual),
        by_image(device, inputs.given_residual.size(), kPoison),
        by_weight(device, gpu::kWeights, kPoison),
        statistics(device, 1, {-8906.25, 0xdeadbeef, 77}),
        correct(device, 1, 0xdeadbeef),
        count(inputs.images) {}
  gpu::LabelledImages view() const { return {pixels.data(), labels.data(), count}; }

  static constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
  gpu::Buffer<std::uint8_t> pixels, labels;
  gpu::Buffer<float> weights, given_residual;
  Output<float> by_image;   // n×10
  Output<float> by_weight;  // 10×785
  Output<gpu::PassStatistics> statistics;
  Output<std::uint32_t> correct;
  int count;
};

// Compares results with what is expected and keeps the worst.
class Judge {
 public:
  Judge(OperationResult& result, const SelftestCase& expected)
      : result_(result), expected_(expected), where_("at " + std::to_string(expected.images) + " images: ") {}

  // Expectation: Expected or ExpectedExactly.
  template <class Expectation>
  void matrix(const Output<float>& output, const Expectation& expected) {
    compare(output.values(where_, result_.faults), expected);
  }

  void squared_residuals(const Output<gpu::PassStatistics>& output, const ExpectedExactly& expected) {
    std::vector<double> found;
    for (const gpu::PassStatistics& one : output.values(where_, result_.faults)) {
      found.push_back(one.squared_residual);
      if (one.correct != 0) result_.faults.push_back(where_ + "a count of correct images that nobody made");
    }
    compare(found, expected);
  }

  // Sums that must be right to the last digit, row by row of 785.
  void exactly(const char* what, const Output<std::uint64_t>& output,
               const std::vector<std::uint64_t>& expected) {
    const std::vector<std::uint64_t> found = output.values(where_, result_.faults);
    std::size_t misses = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (found[k] != expected[k] && misses++ == 0) first = k;
    }
    keep_worst(
        misses == 0 ? 0 : std::fabs(static_cast<double>(found[first]) - static_cast<double>(expected[first])),
        0);
    if (misses == 0) return;
    result_.faults.push_back(where_ + std::to_string(misses) + " of " + std::to_string(found.size()) + " " +
                             what + " are off; row " + std::to_string(first / gpu::kFeatures) + ", column " +
                             std::to_string(first % gpu::kFeatures) + " is " + std::to_string(found[first]) +
                             ", expected " + std::to_string(expected[first]));
  }
  void statistics(const Output<gpu::PassStatistics>& output) {
    const gpu::PassStatistics found = output.values(where_, result_.faults).front();
    const ExpectedStatistics& expected = expected_.statistics;
    if (!(std::fabs(found.squared_residual - expected.squared_residual) <= expected.tolerance)) {
      result_.faults.push_back(where_ + "the squared residual is " + text_of(found.squared_residual) +
                               ", expected " + text_of(expected.squared_residual) + " ± " +
                               text_of(expected.tolerance));
    }
    correct(found.correct);
  }

  void correct(const Output<std::uint32_t>& output) {
    correct(output.values(where_, result_.faults).front());
  }

 private:
  template <class Value, class Expectation>
  void compare(const std::vector<Value>& found, const Expectation& expected) {
    std::size_t misses = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double error = std::fabs(static_cast<double>(found[k]) - expected.value[k]);
      const double tolerance = expected.tolerance[k];
      if (!(error <= tolerance) && misses++ == 0) first = k;
      keep_worst(error, tolerance);
    }
    if (misses == 0) return;
    result_.faults.push_back(where_ + std::to_string(misses) + " of " + std::to_string(found.size()) +
                             " values are off; value " + std::to_string(first) + " is " +
                             text_of(found[first]) + ", expected " + text_of(expected.value[first]) + " ± " +
                             text_of(expected.tolerance[first]));
  }

  void correct(std::uint32_t found) {
    const auto [squared, tolerance, expected, doubtful] = expected_.statistics;
    if (std::llabs(static_cast<long long>(found) - expected) <= doubtful) return;
    result_.faults.push_back(where_ + std::to_string(found) + " are counted correct, expected " +
                             std::to_string(expected) + " ± " + std::to_string(doubtful));
  }

  void keep_worst(double error, double tolerance) {
    double share = std::numeric_limits<double>::infinity();
    if (error <= tolerance) share = tolerance > 0 ? error / tolerance : 0;
    if (error > tolerance && tolerance > 0) share = error / tolerance;
    if (!(share > result_.share)) return;
    result_.share = share;
    result_.error = error;
    result_.tolerance = tolerance;
  }

  OperationResult& result_;
  const SelftestCase& expected_;
  std::string where_;
};

struct Operation {
  const char* name;
  const char* product;  // of whose variants it is made: "residual", "gradient", "both" of these; empty: none
  void (*launch)(gpu::Ops& ops, Resident& on);
  void (*judge)(Judge& judge, const Resident& on, const SelftestCase& expected);
};

constexpr std::array kOperations = {
    Operation{"initialise", "",
              [](gpu::Ops& ops, Resident& on) { ops.initialise(on.by_weight.data(), SelftestCase::kSeed); },
              [](Judge& judge, const Resident& on, const SelftestCase& expected) {
                judge.matrix(on.by_weight, expected.initial);
              }},
    Operation{"scores", "",
              [](gpu::Ops& ops, Resident& on) {
                ops.scores(on.pixels.data(), on.count, on.weights.data(), on.by_image.data());
              },
              [](Judge& judge, const Resident& on, const SelftestCase& expected) {
                judge.matrix(on.by_image, expected.scores);
              }},
    Operation{"count_correct", "",
              [](gpu::Ops& ops, Resident& on) {
                ops.count_correct(on.view(), on.weights.data(), on.correct.data());
              },
              [](Judge& judge, const Resident& on, const SelftestCase&) { judge.correct(on.correct); }},
    Operation{"residual", "residual",
              [](gpu::Ops& ops, Resident& on) {
                ops.residual(on.view(), on.weights.data(), on.by_image.data(), on.statistics.data());
              },
              [](Judge& judge, const Resident& on, const SelftestCase& expected) {
                judge.matrix(on.by_image, expected.residual);
                judge.statistics(on.statistics);
              }},
    Operation{"gradient", "gradient",
              [](gpu::Ops& ops, Resident& on) {
                ops.gradient(on.view(), on.given_residual.data(), on.by_weight.data());
              },
              [](Judge& judge, const Resident& on, const SelftestCase& expected) {
                judge.matrix(on.by_weight, expected.gradient);
              }},
    Operation{"loss_and_gradient", "both",
              [](gpu::Ops& ops, Resident& on) {
                ops.loss_and_gradient(on.view(), on.weights.data(), on.by_weight.data(),
                                      on.statistics.data());
              },
              [](Judge& judge, const Resident& on, const SelftestCase& expected) {
                judge.matrix(on.by_weight, expected.fused_gradient);
                judge.statistics(on.statistics);
              }},
};

double least_milliseconds(gpu::Device& device, const std::function<void()>& launch) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) {
    const gpu::Event begin = device.record();
    launch();
    const gpu::Event end = device.record();
    least = std::min(least, device.elapsed_ms(begin, end));
  }
  return least;
}

// step changes what it is given, so it does not fit the table.
void check_step(gpu::Device& device, const SelftestCase& expected, OperationResult& result) {
  Output<float> weights(device, gpu::kWeights, Resident::kPoison);
  const gpu::Buffer<float> gradient(device, expected.fused_gradient.value);
  weights.fill(expected.weights);
  const auto launch = [&] { device.ops().step(weights.data(), gradient.data(), SelftestCase::kRate); };
  launch();
  Judge(result, expected).matrix(weights, expected.stepped);
  if (expected.images == kTimedImages) result.milliseconds = least_milliseconds(device, launch);
}

void check_gram(gpu::Device& device, const SelftestCase& expected, OperationResult& result) {
  constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeef;
  const gpu::Buffer<std::uint8_t> pixels(device, expected.pixels), labels(device, expected.labels);
  Output<std::uint64_t> products(device, expected.products.size(), kPoison);
  Output<std::uint64_t> class_sums(device, expected.class_sums.size(), kPoison);
  const auto launch = [&] {
    device.ops().gram({pixels.data(), labels.data(), expected.images}, products.data(), class_sums.data());
  };
  launch();
  Judge judge(result, expected);
  judge.exactly("products", products, expected.products);
  judge.exactly("class sums", class_sums, expected.class_sums);
  if (expected.images == kTimedImages) result.milliseconds = least_milliseconds(device, launch);
}

// The time is that of an iteration.
void check_gram_descend(gpu::Device& device, const SelftestCase& expected, OperationResult& result) {
  const gpu::Buffer<float> products(device, expected.system_products);
  const gpu::Buffer<float> class_sums(device, expected.system_class_sums);
  Output<float> weights(device, gpu::kWeights, Resident::kPoison);
  const auto descend = [&](int count, gpu::PassStatistics* statistics) {
    device.ops().gram_descend({products.data(), class_sums.data(), expected.images}, weights.data(),
                              SelftestCase::kGramRate, count, statistics);
  };
  Output<gpu::PassStatistics> statistics(device, SelftestCase::kGramIterations, {-8906.25, 0xdeadbeef, 77});
  weights.fill(expected.weights);
  descend(SelftestCase::kGramIterations, statistics.data());
  Judge judge(result, expected);
  judge.matrix(weights, expected.descended);
  judge.squared_residuals(statistics, expected.descent_squared);
  if (expected.images != kTimedImages) return;
  constexpr int kTimed = 300;
  gpu::Buffer<gpu::PassStatistics> many(device, kTimed);
  result.milliseconds = least_milliseconds(device, [&] { descend(kTimed, many.data()); }) / kTimed;
}

void check_in_table(const Operation& operation, gpu::Device& device, const SelftestCase& expected,
                    OperationResult& result) {
  Resident on(device, expected);
  operation.launch(device.ops(), on);
  Judge judge(result, expected);
  operation.judge(judge, on, expected);
  if (expected.images == kTimedImages)
    result.milliseconds = least_milliseconds(device, [&] { operation.launch(device.ops(), on); });
}

template <class Check>
OperationResult over_sizes(const std::vector<SelftestCase>& cases, const char* operation,
                           const std::string& kernel, const Check& check) {
  OperationResult result;
  result.operation = operation;
  result.kernel = kernel;
  for (const SelftestCase& expected : cases) {
    try {
      check(expected, result);
    } catch (const gpu::DeviceLost&) {
      throw;
    } catch (const gpu::DeviceError& error) {
      result.faults.push_back("at " + std::to_string(expected.images) + " images: " + error.what());
    }
  }
  return result;
}

}  // namespace

OperationChecks::OperationChecks(std::span<const int> sizes) {
  gpu::DeviceOptions options;
  options.backend = gpu::Backend::cpu;
  options.reference = true;
  const auto reference = gpu::Device::open(options);
  options.reference = false;
  const auto quick = gpu::Device::open(options);
  for (int images : sizes) cases_.push_back(make_case(*reference, *quick, images));
}

std::vector<OperationResult> OperationChecks::run(gpu::Device& device, const std::string& kernel) const {
  const std::string product = kernel.substr(0, kernel.find('='));
  std::vector<OperationResult> results;
  for (const Operation& operation : kOperations) {
    const std::string part_of = operation.product;
    const bool of_both =
        part_of == "both" && (product == "residual" || product == "gradient" || product == "pass");
    if (!kernel.empty() && !of_both && part_of != product) continue;
    results.push_back(over_sizes(cases_, operation.name, kernel,
                                 [&](const SelftestCase& expected, OperationResult& result) {
                                   check_in_table(operation, device, expected, result);
                                 }));
  }
  const auto in = [&](auto check) {
    return [&device, check](const SelftestCase& expected, OperationResult& result) {
      check(device, expected, result);
    };
  };
  if (kernel.empty()) results.push_back(over_sizes(cases_, "step", kernel, in(check_step)));
  if (kernel.empty() || product == "gram")
    results.push_back(over_sizes(cases_, "gram", kernel, in(check_gram)));
  if (kernel.empty() || product == "gram_step") {
    results.push_back(over_sizes(cases_, "gram_descend", kernel, in(check_gram_descend)));
  }
  return results;
}

double milliseconds_of_pass(gpu::Device& device, int images) {
  Resident on(device, random_inputs(images));
  const auto launch = [&] {
    device.ops().loss_and_gradient(on.view(), on.weights.data(), on.by_weight.data(), on.statistics.data());
  };
  launch();
  const gpu::Event begin = device.record();
  launch();
  return device.elapsed_ms(begin, device.record());
}

}  // namespace mnistd::commands

#include "gpu/bench/operations.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace mnistd::gpu::bench {
namespace {

constexpr int kCheckedIterations = 4;
constexpr double kMatrix = kWeights * sizeof(float);  // bytes

using Faults = std::vector<std::string>;

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// Collects values that are off, and tells of the first.
class Judge {
 public:
  explicit Judge(Faults& faults) : faults_(faults) {}
  void value(std::size_t index, double found, const Expected& expected) {
    ++values_;
    if (std::fabs(found - expected.value) <= expected.tolerance) return;  // not so for a NaN
    if (misses_++ == 0) {
      first_ = "value " + std::to_string(index) + " is " + text_of(found) + ", expected " +
               text_of(expected.value) + " ± " + text_of(expected.tolerance);
    }
  }
  ~Judge() {
    if (misses_ == 0) return;
    faults_.push_back(std::to_string(misses_) + " of " + std::to_string(values_) + " values are off; " +
                      first_);
  }

 private:
  Faults& faults_;
  std::size_t values_ = 0, misses_ = 0;
  std::string first_;
};

template <class T>
void require_in_bounds(const Output<T>& output, Faults& faults) {
  if (output.overrun()) faults.push_back("something was written before or behind the result");
}

void judge_number(const char* what, double found, const Expected& expected, Faults& faults) {
  if (std::fabs(found - expected.value) <= expected.tolerance) return;
  faults.push_back(std::string(what) + " is " + text_of(found) + ", expected " + text_of(expected.value) +
                   " ± " + text_of(expected.tolerance));
}

void judge_correct(std::uint32_t found, const Truth& truth, Faults& faults) {
  if (std::llabs(static_cast<long long>(found) - truth.correct()) <= truth.doubtful()) return;
  faults.push_back(std::to_string(found) + " are counted correct, expected " +
                   std::to_string(truth.correct()) + " ± " + std::to_string(truth.doubtful()));
}

void judge_pass(const Workbench& bench, Faults& faults) {
  const PassStatistics found = bench.statistics.values().front();
  judge_number("the squared residual", found.squared_residual, bench.truth.squared_residual(), faults);
  judge_correct(found.correct, bench.truth, faults);
  require_in_bounds(bench.statistics, faults);
}

void judge_by_image(Workbench& bench, Expected (Truth::*expected)(int, int) const, Faults& faults) {
  {
    Judge judge(faults);
    bench.by_image().for_each_part([&](std::size_t first, std::span<const float> values) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        const std::size_t index = first + k;
        const int image = static_cast<int>(index / kClasses);
        judge.value(index, values[k], (bench.truth.*expected)(image, static_cast<int>(index % kClasses)));
      }
    });
  }
  require_in_bounds(bench.by_image(), faults);
}

void judge_by_weight(const Workbench& bench, const std::vector<Expected>& expected, Faults& faults) {
  {
    Judge judge(faults);
    const std::vector<float> found = bench.by_weight.values();
    for (std::size_t i = 0; i < found.size(); ++i) judge.value(i, found[i], expected[i]);
  }
  require_in_bounds(bench.by_weight, faults);
}

void judge_exact(const char* what, const Output<std::uint64_t>& output,
                 const std::vector<std::uint64_t>& expected, Faults& faults) {
  const std::vector<std::uint64_t> found = output.values();
  std::size_t misses = 0, first = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != expected[i] && misses++ == 0) first = i;
  }
  if (misses > 0) {
    faults.push_back(std::to_string(misses) + " of the " + what + " are wrong; number " +
                     std::to_string(first) + " is " + std::to_string(found[first]) + ", not " +
                     std::to_string(expected[first]));
  }
  require_in_bounds(output, faults);
}

// Some iterations from the initial weights.
Faults faults_of_descent(Workbench& bench, void (*launch)(Workbench& bench, int count)) {
  Faults faults;
  const Descent expected = bench.truth.descend(bench.rate, kCheckedIterations);
  bench.statistics.poison();
  bench.by_weight.poison();
  bench.by_weight.fill(bench.truth.initial_weights());
  launch(bench, kCheckedIterations);
  std::vector<Expected> weights(kWeights);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = {expected.weights[i], expected.tolerance[i]};
  judge_by_weight(bench, weights, faults);
  const std::vector<PassStatistics> found = bench.statistics.values();
  for (std::size_t k = 0; k < kCheckedIterations; ++k) {
    const std::string what = "the squared residual of iteration " + std::to_string(k + 1);
    judge_number(what.c_str(), found[k].squared_residual, expected.squared_residuals[k], faults);
  }
  const PassStatistics& behind = found[kCheckedIterations];
  if (behind.padding != kPoisonStatistics.padding || behind.correct != kPoisonStatistics.correct)
    faults.push_back("statistics of more iterations than asked for were written");
  require_in_bounds(bench.statistics, faults);
  return faults;
}

void descend(Workbench& bench, int count) {
  bench.device.ops().descend(bench.images, bench.by_weight.data(), bench.rate, count,
                             bench.statistics.data());
}

void gram_descend(Workbench& bench, int count) {
  bench.device.ops().gram_descend(bench.system(), bench.by_weight.data(), bench.rate, count,
                                  bench.statistics.data());
}

// One call of each operation that does not iterate by itself.
void loss_and_gradient(Workbench& bench) {
  bench.device.ops().loss_and_gradient(bench.images, bench.weights.data(), bench.by_weight.data(),
                                       bench.statistics.data());
}
void residual(Workbench& bench) {
  bench.device.ops().residual(bench.images, bench.weights.data(), bench.by_image().data(),
                              bench.statistics.data());
}
void gradient(Workbench& bench) {
  bench.device.ops().gradient(bench.images, bench.residual().data(), bench.by_weight.data());
}
void step(Workbench& bench) {
  bench.device.ops().step(bench.by_weight.data(), bench.given_gradient.data(), bench.rate);
}
void initialise(Workbench& bench) { bench.device.ops().initialise(bench.by_weight.data(), Truth::kSeed); }
void scores(Workbench& bench) {
  bench.device.ops().scores(bench.images.pixels, bench.images.count, bench.weights.data(),
                            bench.by_image().data());
}
void count_correct(Workbench& bench) {
  bench.device.ops().count_correct(bench.images, bench.weights.data(), bench.correct.data());
}
void gram(Workbench& bench) {
  bench.device.ops().gram(bench.images, bench.exact_products().data(), bench.exact_class_sums().data());
}

template <void (*kOnce)(Workbench&)>
void times(Workbench& bench, int count) {
  for (int k = 0; k < count; ++k) kOnce(bench);
}

Work of_pass(double images, double products, double bytes_an_image) {
  return {2 * products * kWeights * images, 0, (kPixels + bytes_an_image) * images + 2 * kMatrix};
}

constexpr double kResidualBytes = kClasses * sizeof(float);  // of an image

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  all.push_back({"descend",
                 {"residual", "gradient", "pass"},
                 true,
                 true,
                 [](double n) { return of_pass(n, 2, 1); },
                 descend,
                 [](Workbench& bench) { return faults_of_descent(bench, descend); }});
  all.push_back({"loss_and_gradient",
                 {"residual", "gradient", "pass"},
                 true,
                 false,
                 [](double n) { return of_pass(n, 2, 1); },
                 times<loss_and_gradient>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.by_weight.poison();
                   bench.statistics.poison();
                   loss_and_gradient(bench);
                   judge_by_weight(bench, bench.truth.gradient(false), faults);
                   judge_pass(bench, faults);
                   return faults;
                 }});
  all.push_back({"residual",
                 {"residual"},
                 true,
                 false,
                 [](double n) { return of_pass(n, 1, 1 + kResidualBytes); },
                 times<residual>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.by_image().poison();
                   bench.statistics.poison();
                   residual(bench);
                   judge_by_image(bench, &Truth::residual, faults);
                   judge_pass(bench, faults);
                   return faults;
                 }});
  all.push_back({"gradient",
                 {"gradient"},
                 true,
                 false,
                 [](double n) { return of_pass(n, 1, kResidualBytes); },
                 times<gradient>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.by_weight.poison();
                   gradient(bench);
                   judge_by_weight(bench, bench.truth.gradient(true), faults);
                   return faults;
                 }});
  all.push_back({"step",
                 {"step"},
                 false,
                 false,
                 [](double) {
                   return Work{2.0 * kWeights, 0, 3 * kMatrix};
                 },
                 times<step>,
                 [](Workbench& bench) {
                   Faults faults;
                   const std::vector<float>& weights = bench.truth.weights();
                   const std::vector<float> gradient = bench.given_gradient.to_vector();
                   bench.by_weight.poison();
                   bench.by_weight.fill(weights);
                   step(bench);
                   std::vector<Expected> expected;
                   for (std::size_t i = 0; i < weights.size(); ++i) {
                     const double change = static_cast<double>(bench.rate) * gradient[i];
                     expected.push_back(
                         {weights[i] - change, std::ldexp(std::fabs(weights[i]) + std::fabs(change), -23)});
                   }
                   judge_by_weight(bench, expected, faults);
                   return faults;
                 }});
  all.push_back({"initialise",
                 {"initialise"},
                 false,
                 false,
                 [](double) {
                   return Work{0, 0, kMatrix};
                 },
                 times<initialise>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.by_weight.poison();
                   initialise(bench);
                   std::vector<Expected> expected;  // one rounding is prescribed
                   for (float weight : bench.truth.initial_weights()) expected.push_back({weight, 0});
                   judge_by_weight(bench, expected, faults);
                   return faults;
                 }});
  all.push_back({"scores",
                 {"scores"},
                 true,
                 false,
                 [](double n) { return of_pass(n, 1, kResidualBytes); },
                 times<scores>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.by_image().poison();
                   scores(bench);
                   judge_by_image(bench, &Truth::score, faults);
                   return faults;
                 }});
  all.push_back({"count_correct",
                 {"count_correct"},
                 true,
                 false,
                 [](double n) { return of_pass(n, 1, 1); },
                 times<count_correct>,
                 [](Workbench& bench) {
                   Faults faults;
                   bench.correct.poison();
                   count_correct(bench);
                   judge_correct(bench.correct.values().front(), bench.truth, faults);
                   require_in_bounds(bench.correct, faults);
                   return faults;
                 }});
  all.push_back(
      {"gram",
       {"gram"},
       true,
       false,
       [](double n) {
         const double products = kFeatures * (kFeatures + 1) / 2.0;
         return Work{0, 2 * products * n, (kPixels + 1) * n + 8.0 * kFeatures * (kFeatures + kClasses)};
       },
       times<gram>,
       [](Workbench& bench) {
         Faults faults;
         bench.exact_products().poison();
         bench.exact_class_sums().poison();
         gram(bench);
         judge_exact("products", bench.exact_products(), bench.truth.products(), faults);
         judge_exact("class sums", bench.exact_class_sums(), bench.truth.class_sums(), faults);
         return faults;
       }});
  all.push_back({"gram_descend",
                 {"gram_step"},
                 false,
                 true,
                 [](double) {
                   return Work{2.0 * kWeights * (kFeatures + 2), 0,
                               sizeof(float) * (1.0 * kFeatures * kFeatures + kWeights) + 2 * kMatrix};
                 },
                 gram_descend,
                 [](Workbench& bench) { return faults_of_descent(bench, gram_descend); }});
  return all;
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = all_operations();
  return all;
}

std::vector<const Operation*> operations_of(std::string_view kernel) {
  const std::string_view list = kernel.substr(0, kernel.find('='));
  std::vector<const Operation*> own, made_of_it, all;
  for (const Operation& operation : operations()) {
    all.push_back(&operation);
    const auto& products = operation.products;
    if (std::find(products.begin(), products.end(), list) != products.end()) made_of_it.push_back(&operation);
    if (operation.name == list) own.push_back(&operation);
  }
  if (!own.empty()) return own;
  return made_of_it.empty() ? all : made_of_it;
}

}  // namespace mnistd::gpu::bench

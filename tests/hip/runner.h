// Runs operations of a device on host values and brings back what they left.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpu/device.h"
#include "tests/gpu/formulas.h"
#include "tests/hip/guarded_buffer.h"

namespace mnistd::gpu {

inline bool operator==(const PassStatistics& left, const PassStatistics& right) {
  return left.squared_residual == right.squared_residual && left.correct == right.correct;
}

struct ResidualResult {
  std::vector<float> residual;
  PassStatistics statistics;
};
struct GradientResult {
  std::vector<float> gradient;
  PassStatistics statistics;
};

struct DescentResult {
  std::vector<float> weights;
  std::vector<PassStatistics> statistics;
};

class Runner {
 public:
  explicit Runner(Device& device) : device_(device) {}

  std::vector<float> scores(const Images& images, const std::vector<float>& weights) {
    const Resident on(device_, images, weights);
    GuardedBuffer<float> result = floats(images.labels.size() * kClasses);
    device_.ops().scores(on.view().pixels, on.view().count, on.weights.data(), result.data());
    return result.values();
  }

  ResidualResult residual(const Images& images, const std::vector<float>& weights) {
    const Resident on(device_, images, weights);
    GuardedBuffer<float> result = floats(images.labels.size() * kClasses);
    GuardedBuffer<PassStatistics> statistics = pass_statistics();
    device_.ops().residual(on.view(), on.weights.data(), result.data(), statistics.data());
    return {result.values(), statistics.values().front()};
  }

  std::vector<float> gradient(const Images& images, const std::vector<float>& residual) {
    const Resident on(device_, images, residual);
    GuardedBuffer<float> result = floats(kWeights);
    device_.ops().gradient(on.view(), on.weights.data(), result.data());
    return result.values();
  }

  GradientResult loss_and_gradient(const Images& images, const std::vector<float>& weights) {
    const Resident on(device_, images, weights);
    GuardedBuffer<float> result = floats(kWeights);
    GuardedBuffer<PassStatistics> statistics = pass_statistics();
    device_.ops().loss_and_gradient(on.view(), on.weights.data(), result.data(), statistics.data());
    return {result.values(), statistics.values().front()};
  }

  DescentResult descend(const Images& images, const std::vector<float>& weights, float rate, int count) {
    Resident on(device_, images, weights);
    GuardedBuffer<PassStatistics> statistics = pass_statistics(static_cast<std::size_t>(count));
    device_.ops().descend(on.view(), on.weights.data(), rate, count, statistics.data());
    return {on.weights.to_vector(), statistics.values()};
  }

  std::uint32_t count_correct(const Images& images, const std::vector<float>& weights) {
    const Resident on(device_, images, weights);
    GuardedBuffer<std::uint32_t> result(device_, 1, 0xdeadbeef, 0xfeedc0de);
    device_.ops().count_correct(on.view(), on.weights.data(), result.data());
    return result.values().front();
  }

 private:
  struct Resident {
    Resident(Device& device, const Images& images, const std::vector<float>& matrix)
        : pixels(device, images.pixels), labels(device, images.labels), weights(device, matrix) {}
    LabelledImages view() const { return {pixels.data(), labels.data(), static_cast<int>(labels.size())}; }
    Buffer<std::uint8_t> pixels;
    Buffer<std::uint8_t> labels;
    Buffer<float> weights;
  };

  GuardedBuffer<float> floats(std::size_t count) {
    return {device_, count, std::numeric_limits<float>::quiet_NaN(), -8906.25f};
  }
  GuardedBuffer<PassStatistics> pass_statistics(std::size_t count = 1) {
    return {device_, count, PassStatistics{std::nan(""), 0xdeadbeef, 0}, PassStatistics{-8906.25, 77, 0}};
  }

  Device& device_;
};

}  // namespace mnistd::gpu

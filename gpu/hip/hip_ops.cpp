#include "gpu/hip/hip_ops.h"

#include <cstdint>
#include <string>

#include "gpu/hip/setting.h"

namespace mnistd::gpu::hip {
namespace {

void require(const std::uint8_t* pixels, int count) {
  if (count < 1) {
    throw DeviceError("an operation on " + std::to_string(count) + " images: at least one is needed");
  }
  if (reinterpret_cast<std::uintptr_t>(pixels) % sizeof(std::uint32_t) != 0) {
    throw DeviceError("the HIP device needs pixels that begin at a multiple of 4 bytes");
  }
}

}  // namespace

// What is on the stream may still use the old array: hipFree waits for it.
template <class T>
T* HipOps::grown(DeviceArray<T>& array, std::size_t count) {
  if (array.size() < count) {
    scratch_bytes_ -= array.size() * sizeof(T);
    array = DeviceArray<T>();  // before the new one, so that both need never fit
    array = DeviceArray<T>(count);
    scratch_bytes_ += count * sizeof(T);
  }
  return array.data();
}

HipOps::HipOps(const DeviceInfo& device, hipStream_t stream, std::string_view kernel)
    : stream_(stream),
      choice_(kernels::choose_variants(setting_of(device), kernel)),
      gram_descent_(stream, choice_.gram_step->way) {}

PassStatistics* HipOps::block_statistics_for(int images) {
  return grown(block_statistics_, kernels::workspace_sizes(images).block_statistics);
}
float* HipOps::partial_gradients_for(int images) {
  return grown(partial_gradients_, kernels::workspace_sizes(images).partial_gradients);
}
float* HipOps::residual_for(int images) {
  return grown(residual_, kernels::workspace_sizes(images).residual);
}

void HipOps::initialise(float* weights, std::uint32_t seed) { kernels::initialise(stream_, weights, seed); }

void HipOps::residual(const LabelledImages& images, const float* weights, float* residual,
                      PassStatistics* statistics) {
  require(images.pixels, images.count);
  PassStatistics* block_statistics = block_statistics_for(images.count);
  const int blocks = choice_.residual->launch(stream_, images, weights, residual, block_statistics);
  kernels::reduce_statistics(stream_, block_statistics, blocks, statistics);
}

void HipOps::gradient(const LabelledImages& images, const float* residual, float* gradient) {
  require(images.pixels, images.count);
  float* partial_gradients = partial_gradients_for(images.count);
  choice_.gradient->launch(stream_, images, residual, partial_gradients);
  kernels::reduce_gradient(stream_, partial_gradients, images.count, gradient);
}

void HipOps::loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                               PassStatistics* statistics) {
  require(images.pixels, images.count);
  float* scratch = residual_for(images.count);
  residual(images, weights, scratch, statistics);
  this->gradient(images, scratch, gradient);
}

void HipOps::step(float* weights, const float* gradient, float rate) {
  kernels::step(stream_, weights, gradient, rate);
}

void HipOps::descend(const LabelledImages& images, float* weights, float rate, int count,
                     PassStatistics* statistics) {
  float* gradient = grown(gradient_, kWeights);
  for (int k = 0; k < count; ++k) {
    loss_and_gradient(images, weights, gradient, statistics + k);
    step(weights, gradient, rate);
  }
}

void HipOps::gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) {
  require(images.pixels, images.count);
  choice_.gram->launch(stream_, images, products, class_sums, {});
}

void HipOps::gram_descend(const GramSystem& system, float* weights, float rate, int count,
                          PassStatistics* statistics) {
  if (system.images < 1 || count < 1) {
    throw DeviceError("a descent of " + std::to_string(count) + " iterations over " +
                      std::to_string(system.images) + " images: at least one of each is needed");
  }
  gram_descent_.descend(system, weights, rate, count, statistics);
}

void HipOps::scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) {
  require(pixels, count);
  kernels::scores(stream_, pixels, count, weights, scores);
}

void HipOps::count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) {
  require(images.pixels, images.count);
  kernels::count_correct(stream_, images, weights, correct);
}

}  // namespace mnistd::gpu::hip

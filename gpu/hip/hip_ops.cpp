#include "gpu/hip/hip_ops.h"

#include <cstdint>
#include <string>

#include "gpu/hip/setting.h"

namespace mnistd::gpu::hip {
namespace {

constexpr std::uintptr_t kPixelAlignment = 16;  // of the widest load

void require(const std::uint8_t* pixels, int count) {
  if (count < 1) {
    throw DeviceError("an operation on " + std::to_string(count) + " images: at least one is needed");
  }
  if (reinterpret_cast<std::uintptr_t>(pixels) % kPixelAlignment != 0) {
    throw DeviceError("the HIP device needs pixels that begin at a multiple of " +
                      std::to_string(kPixelAlignment) + " bytes");
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
      compute_units_(device.compute_units),
      choice_(kernels::choose_variants(setting_of(device), kernel)),
      gram_descent_(stream, choice_.gram_step->way) {}

kernels::WorkspaceSizes HipOps::workspace(int images) const {
  return kernels::workspace_sizes(images, compute_units_);
}

kernels::Weights HipOps::prepared(const float* weights, bool packed) {
  if (!packed) return {weights, nullptr};
  float* to = grown(packed_, kWeights);
  kernels::pack(stream_, weights, to);
  return {weights, to};
}

int HipOps::residual_parts(const LabelledImages& images, const kernels::Weights& weights, float* residual) {
  PassStatistics* statistics = grown(block_statistics_, workspace(images.count).block_statistics);
  return choice_.residual->launch(stream_, images, weights, residual, statistics);
}

int HipOps::gradient_parts(const LabelledImages& images, const float* residual) {
  float* gradients = grown(partial_gradients_, workspace(images.count).partial_gradients);
  choice_.gradient->launch(stream_, images, residual, kernels::chunk_images(images.count, compute_units_),
                           gradients);
  return kernels::chunks_of(images.count, compute_units_);
}

bool HipOps::pass_is_packed() const {
  return choice_.pass->launch == nullptr ? choice_.residual->packed : choice_.pass->packed;
}

kernels::PassParts HipOps::pass(const LabelledImages& images, const kernels::Weights& weights) {
  kernels::PassParts parts;
  if (choice_.pass->launch == nullptr) {
    float* residual = grown(residual_, workspace(images.count).residual);
    parts.statistics_parts = residual_parts(images, weights, residual);
    parts.gradient_parts = gradient_parts(images, residual);
    parts.statistics = block_statistics_.data();
    parts.gradients = partial_gradients_.data();
    return parts;
  }
  parts.chunk_images = kernels::chunk_images(images.count, compute_units_);
  parts.gradient_parts = kernels::chunks_of(images.count, compute_units_);
  parts.statistics_parts = parts.gradient_parts;
  const auto count = static_cast<std::size_t>(parts.gradient_parts);
  parts.gradients = grown(partial_gradients_, count * kWeights);
  parts.statistics = grown(block_statistics_, count);
  choice_.pass->launch(stream_, images, weights, parts);
  return parts;
}

void HipOps::initialise(float* weights, std::uint32_t seed) { kernels::initialise(stream_, weights, seed); }

void HipOps::residual(const LabelledImages& images, const float* weights, float* residual,
                      PassStatistics* statistics) {
  require(images.pixels, images.count);
  const int parts = residual_parts(images, prepared(weights, choice_.residual->packed), residual);
  kernels::reduce_statistics(stream_, block_statistics_.data(), parts, statistics);
}

void HipOps::gradient(const LabelledImages& images, const float* residual, float* gradient) {
  require(images.pixels, images.count);
  const int parts = gradient_parts(images, residual);
  kernels::reduce_gradient(stream_, partial_gradients_.data(), parts, images.count, gradient);
}

void HipOps::loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                               PassStatistics* statistics) {
  require(images.pixels, images.count);
  const kernels::PassParts parts = pass(images, prepared(weights, pass_is_packed()));
  kernels::finish_gradient(stream_, parts, images.count, gradient, statistics);
}

void HipOps::step(float* weights, const float* gradient, float rate) {
  kernels::step(stream_, weights, gradient, rate);
}

void HipOps::descend(const LabelledImages& images, float* weights, float rate, int count,
                     PassStatistics* statistics) {
  require(images.pixels, images.count);
  const bool packed = pass_is_packed();
  const kernels::Weights prepared_weights = prepared(weights, packed);
  for (int k = 0; k < count; ++k) {
    const kernels::PassParts parts = pass(images, prepared_weights);
    kernels::finish_step(stream_, parts, images.count, rate, weights, packed ? packed_.data() : nullptr,
                         statistics + k);
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

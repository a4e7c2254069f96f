// The operations as kernels on a stream. They return when their kernels are queued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpu/device.h"
#include "gpu/hip/device_memory.h"
#include "gpu/hip/gram_descent.h"
#include "gpu/kernels/variants.h"
#include "gpu/ops.h"

namespace mnistd::gpu::hip {

// Beyond what the interface asks for: pixels are aligned to 16 bytes, floats to 4, PassStatistics to 8 (DeviceError).
class HipOps final : public Ops {
 public:
  // stream must outlive this. kernel: which variants are forced, as in kernels/variants.h (DeviceError).
  HipOps(const DeviceInfo& device, hipStream_t stream, std::string_view kernel);

  void initialise(float* weights, std::uint32_t seed) override;
  void residual(const LabelledImages& images, const float* weights, float* residual,
                PassStatistics* statistics) override;
  void gradient(const LabelledImages& images, const float* residual, float* gradient) override;
  void loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                         PassStatistics* statistics) override;
  void step(float* weights, const float* gradient, float rate) override;
  void descend(const LabelledImages& images, float* weights, float rate, int count,
               PassStatistics* statistics) override;
  void gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) override;
  void gram_descend(const GramSystem& system, float* weights, float rate, int count,
                    PassStatistics* statistics) override;
  void scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) override;
  void count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) override;

  std::uint64_t scratch_bytes() const { return scratch_bytes_ + gram_descent_.bytes(); }

 private:
  // The array, grown to at least `count` values. All scratch memory is taken here, so that it is
  // counted, but for that of gram_descent_.
  template <class T>
  T* grown(DeviceArray<T>& array, std::size_t count);

  // Each array grows when an operation first needs it for so many images, so at a training's first iteration and never in
  // its loop. It stays for the next training.
  kernels::WorkspaceSizes workspace(int images) const;
  // W as a variant wants it: `packed` whether that is so.
  kernels::Weights prepared(const float* weights, bool packed);
  // Everything of a pass over the images but the adding up.
  kernels::PassParts pass(const LabelledImages& images, const kernels::Weights& weights);
  int residual_parts(const LabelledImages& images, const kernels::Weights& weights, float* residual);
  int gradient_parts(const LabelledImages& images, const float* residual);
  bool pass_is_packed() const;

  hipStream_t stream_;
  int compute_units_;
  kernels::Choice choice_;
  std::uint64_t scratch_bytes_ = 0;
  DeviceArray<float> packed_;  // W
  DeviceArray<float> residual_;
  DeviceArray<float> partial_gradients_;
  DeviceArray<PassStatistics> block_statistics_;
  GramDescent gram_descent_;
};

}  // namespace mnistd::gpu::hip

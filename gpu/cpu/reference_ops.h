// The operations as plain loops with sums in double: the definition of correct, against which every other
// implementation is tested. Finished when they return; no threads. A second or so for a pass over 60,000 images.
#pragma once

#include <cstdint>

#include "gpu/ops.h"

namespace mnistd::gpu::cpu {

// Whether ten scores name `label`: no other class higher, none lower-numbered as high. A NaN among them: no.
bool names_label(const float* scores, std::uint8_t label);

// Throws DeviceError unless count ≥ 1.
void require_images(int count);

class ReferenceOps : public Ops {
 public:
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
};

}  // namespace mnistd::gpu::cpu

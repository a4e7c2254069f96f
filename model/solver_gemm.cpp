#include "model/solver.h"

namespace mnistd::model {
namespace {

class GemmSolver final : public Solver {
 public:
  GemmSolver(gpu::Device& device, const gpu::LabelledImages& images)
      : ops_(device.ops()), images_(images), gradient_(device, gpu::kWeights) {}

  void iterate(float* weights, float learning_rate, int count, gpu::PassStatistics* statistics) override {
    for (int i = 0; i < count; ++i) {
      ops_.loss_and_gradient(images_, weights, gradient_.data(), statistics + i);
      ops_.step(weights, gradient_.data(), learning_rate);
    }
  }

 private:
  gpu::Ops& ops_;
  gpu::LabelledImages images_;
  gpu::Buffer<float> gradient_;
};

}  // namespace

std::unique_ptr<Solver> make_gemm_solver(gpu::Device& device, const gpu::LabelledImages& images) {
  return std::make_unique<GemmSolver>(device, images);
}

}  // namespace mnistd::model

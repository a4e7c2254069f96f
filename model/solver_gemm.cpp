#include <algorithm>

#include "model/solver.h"

namespace mnistd::model {
namespace {

class GemmSolver final : public Solver {
 public:
  GemmSolver(gpu::Device& device, const gpu::LabelledImages& images)
      : ops_(device.ops()), images_(images), most_(std::max(1, device.pipeline_depth())) {}

  void iterate(float* weights, float learning_rate, int count, gpu::PassStatistics* statistics) override {
    ops_.descend(images_, weights, learning_rate, count, statistics);
  }
  bool counts_correct() const override { return true; }
  int most_iterations() const override { return most_; }

 private:
  gpu::Ops& ops_;
  gpu::LabelledImages images_;
  const int most_;
};

}  // namespace

std::unique_ptr<Solver> make_gemm_solver(gpu::Device& device, const gpu::LabelledImages& images) {
  return std::make_unique<GemmSolver>(device, images);
}

}  // namespace mnistd::model

#include "model/solver.h"

namespace mnistd::model {
namespace {

class GramSolver final : public Solver {
 public:
  GramSolver(gpu::Device& device, const gpu::GramSystem& system) : ops_(device.ops()), system_(system) {}

  void iterate(float* weights, float learning_rate, int count, gpu::PassStatistics* statistics) override {
    ops_.gram_descend(system_, weights, learning_rate, count, statistics);
  }
  bool counts_correct() const override { return false; }
  // An iteration is microseconds on a GPU: a call holds thousands. Their statistics are 64 KiB.
  int most_iterations() const override { return 4096; }

 private:
  gpu::Ops& ops_;
  gpu::GramSystem system_;
};

}  // namespace

std::unique_ptr<Solver> make_gram_solver(gpu::Device& device, const gpu::GramSystem& system) {
  return std::make_unique<GramSolver>(device, system);
}

}  // namespace mnistd::model

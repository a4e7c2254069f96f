// A solver turns weights into better ones: one gradient-descent update an iteration, statistics of the weights before it.
#pragma once

#include <memory>

#include "gpu/device.h"
#include "model/dataset.h"
#include "model/trainer.h"

namespace mnistd::model {

class Solver {
 public:
  virtual ~Solver() = default;
  // Puts `count` iterations on the device's stream. statistics[i] (device memory) is of the weights before the i-th of
  // them.
  virtual void iterate(float* weights, float learning_rate, int count, gpu::PassStatistics* statistics) = 0;
  // Whether the statistics tell how many images were right; else that is 0 there, and costs a pass of its own.
  virtual bool counts_correct() const = 0;
  // How many iterations one call may hold, at least 1.
  virtual int most_iterations() const = 0;
};

// The two matrix products over the resident images, every iteration. All buffers are allocated here, none in iterate.
std::unique_ptr<Solver> make_gemm_solver(gpu::Device& device, const gpu::LabelledImages& images);

// The same iterates, up to rounding, by the normal equations, which the caller keeps in the device's memory: 10×785 times
// 785×785 an iteration instead of passes over all images.
std::unique_ptr<Solver> make_gram_solver(gpu::Device& device, const gpu::GramSystem& system);

}  // namespace mnistd::model

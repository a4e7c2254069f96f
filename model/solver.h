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
};

// The two matrix products over the resident images, every iteration. All buffers are allocated here, none in iterate.
std::unique_ptr<Solver> make_gemm_solver(gpu::Device& device, const gpu::LabelledImages& images);

}  // namespace mnistd::model

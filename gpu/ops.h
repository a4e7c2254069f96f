// The operations that a model may ask of a device, in the words of the model: they stay small in number, and every
// one has a plain reference on the CPU (cpu/reference_ops) that defines what is correct.
//
// Notation: n images of 784 byte pixels; row i of X is the pixels of image i divided by 255, then
// a 1 for the bias; Y is the 10×n one-hot matrix; W is 10×785, row-major.
//
// All pointers are device memory of the Device that owns the Ops, do not overlap, and are owned by the caller.
// Operations are put on the device's one stream and run in order; they may return before they are done
// (Device::synchronize waits). Every function throws DeviceError. One thread at a time: the one that owns the Device.
#pragma once

#include <cstdint>

namespace mnistd::gpu {

inline constexpr int kPixels = 784;    // of an image
inline constexpr int kFeatures = 785;  // pixels and the bias
inline constexpr int kClasses = 10;
inline constexpr int kWeights = kClasses * kFeatures;

// n images with their labels: a plain view of device memory.
struct LabelledImages {
  const std::uint8_t* pixels = nullptr;  // n×784, row-major, one byte a pixel
  const std::uint8_t* labels = nullptr;  // n, each 0..9
  int count = 0;                         // n ≥ 1
};

// What one pass over the images yields besides its matrix. Lives in device memory.
struct PassStatistics {
  double squared_residual = 0;  // ‖R‖²_F; the loss is this over n
  std::uint32_t correct = 0;    // images whose highest score, the lowest class winning a tie, is their label
  std::uint32_t padding = 0;
};

// Rows of a GramSystem are padded to whole vectors of any device.
inline constexpr int kGramStride = 800;  // floats

// The normal equations of least squares, over n: all that gradient descent needs to know of the images. A plain view of
// device memory, aligned to 64 bytes.
struct GramSystem {
  const float* products = nullptr;    // XᵀX/n, 785 rows of kGramStride floats, the last 15 of each row zero
  const float* class_sums = nullptr;  // YX/n, 10 rows of kGramStride floats, the last 15 of each row zero
  int images = 0;                     // n ≥ 1
  // Of these values: another for others, in a process. By it a device may keep a form of its own between calls. 0: it may not.
  std::uint64_t id = 0;
};

class Ops {
 public:
  virtual ~Ops() = default;

  // W[i] = 0.01·(u − 0.5), u = splitmix32(i + seed) as a 24-bit fraction; i the row-major index of 10×785.
  virtual void initialise(float* weights, std::uint32_t seed) = 0;

  // R = W Xᵀ − Y, stored image-major (n×10); statistics of the same pass.
  virtual void residual(const LabelledImages& images, const float* weights, float* residual,
                        PassStatistics* statistics) = 0;

  // gradient = (2/n) Rᵀ X (10×785) of a residual stored n×10.
  virtual void gradient(const LabelledImages& images, const float* residual, float* gradient) = 0;

  // Both of the above in one pass over the pixels where the device can; the residual itself is not handed out.
  virtual void loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                                 PassStatistics* statistics) = 0;

  // W ← W − rate · gradient.
  virtual void step(float* weights, const float* gradient, float rate) = 0;

  // `count` iterations of gradient descent, each loss_and_gradient and then step; statistics[k] is of the weights before the
  // k-th of them. count ≥ 1.
  virtual void descend(const LabelledImages& images, float* weights, float rate, int count,
                       PassStatistics* statistics) = 0;

  // Exact sums over the images, with bytes for pixels and 1 for the bias, x[784] = 1:
  // products[a][b] = Σ x[a]·x[b], 785×785, both triangles; class_sums[c][a] = Σ x[a] over images labelled c, 10×785.
  virtual void gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) = 0;

  // `count` iterations of the same descent by the normal equations: W ← W − 2·rate·(W G − C), G and C as in GramSystem.
  // statistics[k]: squared_residual = n·(⟨W, W G⟩ − 2⟨W, C⟩ + 1) of the weights before the k-th; correct is not known: 0.
  virtual void gram_descend(const GramSystem& system, float* weights, float rate, int count,
                            PassStatistics* statistics) = 0;

  // scores = W Xᵀ stored image-major (n×10); labels are not read.
  virtual void scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) = 0;

  // Number of images that W classifies right, as PassStatistics::correct counts.
  virtual void count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) = 0;
};

}  // namespace mnistd::gpu

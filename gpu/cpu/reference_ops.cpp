#include "gpu/cpu/reference_ops.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "gpu/cpu/aligned_array.h"
#include "gpu/error.h"

namespace mnistd::gpu::cpu {
namespace {

std::uint32_t splitmix32(std::uint32_t s) {
  s = (s ^ (s >> 16)) * 0x85ebca6bu;
  s = (s ^ (s >> 13)) * 0xc2b2ae35u;
  return s ^ (s >> 16);
}

float score(const std::uint8_t* image, const float* weights_of_class) {
  double sum = 0;
  for (int p = 0; p < kPixels; ++p) sum += static_cast<double>(weights_of_class[p]) * image[p];
  return static_cast<float>(sum / 255.0 + weights_of_class[kPixels]);
}

}  // namespace

bool names_label(const float* scores, std::uint8_t label) {
  const float own = scores[label];
  bool right = true;
  for (int c = 0; c < label; ++c) right &= own > scores[c];
  for (int c = label; c < kClasses; ++c) right &= own >= scores[c];
  return right;
}

void require_images(int count) {
  if (count < 1)
    throw DeviceError("an operation on " + std::to_string(count) + " images: at least one is needed");
}

void ReferenceOps::initialise(float* weights, std::uint32_t seed) {
  for (std::uint32_t i = 0; i < kWeights; ++i) {
    const double fraction = (splitmix32(i + seed) >> 8) / 16777216.0;
    weights[i] = static_cast<float>(0.01 * (fraction - 0.5));
  }
}

void ReferenceOps::residual(const LabelledImages& images, const float* weights, float* residual,
                            PassStatistics* statistics) {
  scores(images.pixels, images.count, weights, residual);
  *statistics = PassStatistics{};
  for (int i = 0; i < images.count; ++i) {
    float* row = residual + std::size_t{kClasses} * i;
    if (names_label(row, images.labels[i])) ++statistics->correct;
    row[images.labels[i]] -= 1.0f;
    for (int c = 0; c < kClasses; ++c) statistics->squared_residual += static_cast<double>(row[c]) * row[c];
  }
}

void ReferenceOps::gradient(const LabelledImages& images, const float* residual, float* gradient) {
  require_images(images.count);
  AlignedArray<double> memory(kWeights);
  double* sums = memory.data();
  std::fill_n(sums, kWeights, 0.0);
  for (int i = 0; i < images.count; ++i) {
    const std::uint8_t* image = images.pixels + std::size_t{kPixels} * i;
    const float* row = residual + std::size_t{kClasses} * i;
    for (int c = 0; c < kClasses; ++c) {
      double* sums_of_class = sums + kFeatures * c;
      for (int p = 0; p < kPixels; ++p) sums_of_class[p] += static_cast<double>(row[c]) * image[p];
      sums_of_class[kPixels] += 255.0 * row[c];
    }
  }
  for (int i = 0; i < kWeights; ++i) gradient[i] = static_cast<float>(2.0 * sums[i] / 255.0 / images.count);
}

void ReferenceOps::loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                                     PassStatistics* statistics) {
  require_images(images.count);
  AlignedArray<float> residuals(std::size_t{kClasses} * images.count);
  residual(images, weights, residuals.data(), statistics);
  this->gradient(images, residuals.data(), gradient);
}

void ReferenceOps::step(float* weights, const float* gradient, float rate) {
  for (int i = 0; i < kWeights; ++i) {
    weights[i] = static_cast<float>(weights[i] - static_cast<double>(rate) * gradient[i]);
  }
}

void ReferenceOps::descend(const LabelledImages& images, float* weights, float rate, int count,
                           PassStatistics* statistics) {
  AlignedArray<float> gradient(kWeights);
  for (int k = 0; k < count; ++k) {
    loss_and_gradient(images, weights, gradient.data(), statistics + k);
    step(weights, gradient.data(), rate);
  }
}

void ReferenceOps::gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) {
  require_images(images.count);
  std::fill_n(products, kFeatures * kFeatures, 0);
  std::fill_n(class_sums, kClasses * kFeatures, 0);
  std::uint8_t x[kFeatures];
  x[kPixels] = 1;
  for (int i = 0; i < images.count; ++i) {
    std::copy_n(images.pixels + std::size_t{kPixels} * i, kPixels, x);
    for (int a = 0; a < kFeatures; ++a) {
      if (x[a] == 0) continue;
      for (int b = 0; b < kFeatures; ++b) products[kFeatures * a + b] += std::uint64_t{x[a]} * x[b];
      class_sums[kFeatures * images.labels[i] + a] += x[a];
    }
  }
}

void ReferenceOps::gram_descend(const GramSystem& system, float* weights, float rate, int count,
                                PassStatistics* statistics) {
  require_images(system.images);
  AlignedArray<double> memory(kWeights);
  double* change = memory.data();  // W G − C
  for (int k = 0; k < count; ++k) {
    double loss = 1;
    for (int c = 0; c < kClasses; ++c) {
      const float* w = weights + kFeatures * c;
      for (int b = 0; b < kFeatures; ++b) {
        double sum = 0;
        for (int a = 0; a < kFeatures; ++a) {
          sum += static_cast<double>(w[a]) * system.products[kGramStride * a + b];
        }
        const double target = system.class_sums[kGramStride * c + b];
        change[kFeatures * c + b] = sum - target;
        loss += w[b] * (sum - 2 * target);
      }
    }
    statistics[k] = {loss * system.images, 0, 0};
    for (int i = 0; i < kWeights; ++i) {
      weights[i] = static_cast<float>(weights[i] - 2.0 * static_cast<double>(rate) * change[i]);
    }
  }
}

void ReferenceOps::scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) {
  require_images(count);
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* image = pixels + std::size_t{kPixels} * i;
    for (int c = 0; c < kClasses; ++c) {
      scores[std::size_t{kClasses} * i + c] = score(image, weights + kFeatures * c);
    }
  }
}

void ReferenceOps::count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) {
  require_images(images.count);
  *correct = 0;
  float row[kClasses];
  for (int i = 0; i < images.count; ++i) {
    scores(images.pixels + std::size_t{kPixels} * i, 1, weights, row);
    if (names_label(row, images.labels[i])) ++*correct;
  }
}

}  // namespace mnistd::gpu::cpu

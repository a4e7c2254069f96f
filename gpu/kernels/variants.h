// Which variant of a product, or of a whole pass, runs: the last in its list that applies, unless one is forced by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernels/kernels.h"

namespace mnistd::gpu::kernels {

// What a variant may be chosen by.
struct Setting {
  std::string_view architecture;  // "gfx906"
  int wavefront = 0;
  bool cooperative = false;  // the device runs launches whose blocks wait for one another
};

struct ResidualVariant {
  const char* name;
  bool (*applies)(const Setting& setting);
  int (*launch)(hipStream_t stream, const LabelledImages& images, const Weights& weights, float* residual,
                PassStatistics* block_statistics);
  bool packed = false;  // whether it takes W packed
};

struct GradientVariant {
  const char* name;
  bool (*applies)(const Setting& setting);
  void (*launch)(hipStream_t stream, const LabelledImages& images, const float* residual, int chunk_images,
                 float* partial_gradients);
};

// Residual and gradient in one: every pass of a descent. Without a launcher: the two products, one after the other.
struct PassVariant {
  const char* name;
  bool (*applies)(const Setting& setting);
  void (*launch)(hipStream_t stream, const LabelledImages& images, const Weights& weights,
                 const PassParts& parts);
  bool packed = false;
};

struct GramVariant {
  const char* name;
  bool (*applies)(const Setting& setting);
  void (*launch)(hipStream_t stream, const LabelledImages& images, std::uint64_t* products,
                 std::uint64_t* class_sums, const GramLimits& limits);
};

// How many iterations of gram_step are put on the stream: hip/gram_descent.
enum class GramStepWay { plain, launches, cooperation };

struct GramStepVariant {
  const char* name;
  bool (*applies)(const Setting& setting);
  GramStepWay way;
};

// From the plainest up.
std::span<const ResidualVariant> residual_variants();
std::span<const GradientVariant> gradient_variants();
std::span<const PassVariant> pass_variants();
std::span<const GramVariant> gram_variants();
std::span<const GramStepVariant> gram_step_variants();

struct Choice {
  const ResidualVariant* residual = nullptr;
  const GradientVariant* gradient = nullptr;
  const PassVariant* pass = nullptr;
  const GramVariant* gram = nullptr;
  const GramStepVariant* gram_step = nullptr;
};

// `forced`: empty, or "residual=1-plain", "gradient=2-tiled", "pass=2-fused", "gram=…", "gram_step=…", or several with commas
// between. Who forces a product and no pass has it used by passes too, which then are made of the two products. Throws
// DeviceError for an operation or variant that is not there, or that does not apply, naming those that do.
Choice choose_variants(const Setting& setting, std::string_view forced);

// All that can be forced: "residual=1-plain" ….
std::vector<std::string> forcible_variants(const Setting& setting);

}  // namespace mnistd::gpu::kernels

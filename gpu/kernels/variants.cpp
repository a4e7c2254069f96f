#include "gpu/kernels/variants.h"

#include <algorithm>
#include <array>
#include <string>

#include "gpu/error.h"

namespace mnistd::gpu::kernels {
namespace {

bool everywhere(const Setting&) { return true; }
bool where_blocks_cooperate(const Setting& setting) { return setting.cooperative; }
bool where_bytes_make_matrices(const Setting& setting) {
  return platform::kHasByteMatrices && setting.wavefront == 32;
}

constexpr ResidualVariant kPlainResidual{"1-plain", everywhere, residual_1_plain};
constexpr ResidualVariant kTiledResidual{"2-tiled", everywhere, residual_2_tiled};
constexpr ResidualVariant kRegistersResidual{"3-registers", everywhere, residual_3_registers};
constexpr ResidualVariant kScalarResidual{"4-scalar", everywhere, residual_4_scalar};
constexpr ResidualVariant kPingPongResidual{"5-ping-pong", everywhere, residual_5_ping_pong, true};

// Without scalar operands 4 and 5 load W for every multiplication: they are slower than 3, which comes last there.
constexpr std::array kResidualVariants =
    platform::kScalarOperands
        ? std::array{kPlainResidual, kTiledResidual, kRegistersResidual, kScalarResidual, kPingPongResidual}
        : std::array{kPlainResidual, kTiledResidual, kScalarResidual, kPingPongResidual, kRegistersResidual};
constexpr std::array kGradientVariants = {GradientVariant{"1-plain", everywhere, gradient_1_plain},
                                          GradientVariant{"2-tiled", everywhere, gradient_2_tiled},
                                          GradientVariant{"3-registers", everywhere, gradient_3_registers}};

constexpr PassVariant kTwoProducts{"1-two-products", everywhere, nullptr};
constexpr PassVariant kFused{"2-fused", everywhere, pass_2_fused, true};

// A template, so that a platform without byte matrices needs no such kernel to link.
template <bool kMatrices>
constexpr auto pass_list() {
  if constexpr (kMatrices) {
    return std::array{kTwoProducts, kFused,
                      PassVariant{"3-digits", where_bytes_make_matrices, pass_3_digits}};
  } else {
    // gfx906, judged by what the compiler makes of them: fused, a tile of 57 KB leaves 2 wavefronts a SIMD, and of the lanes an
    // eighth are idle; it saves one reading of the bytes, 0.05 ms, which overlaps with 0.16 ms of arithmetic.
    return std::array{kFused, kTwoProducts};
  }
}
constexpr auto kPassVariants = pass_list<platform::kHasByteMatrices>();

constexpr std::array kGramVariants = {
    GramVariant{"1-plain", everywhere, gram_1_plain}, GramVariant{"2-dot4", everywhere, gram_2_dot4},
    GramVariant{"3-matrix", where_bytes_make_matrices, platform::kHasByteMatrices ? gram_3_matrix : nullptr}};
constexpr std::array kGramStepVariants = {
    GramStepVariant{"1-plain", everywhere, GramStepWay::plain},
    GramStepVariant{"2-one-launch", everywhere, GramStepWay::launches},
    GramStepVariant{"3-cooperative", where_blocks_cooperate, GramStepWay::cooperation}};

// The variant called `name`, or the last that applies where `name` is empty.
template <class Variant>
const Variant* pick(std::span<const Variant> variants, const char* operation, const Setting& setting,
                    std::string_view name) {
  const Variant* picked = nullptr;
  std::string names;
  for (const Variant& variant : variants) {
    if (!variant.applies(setting)) continue;
    names += (names.empty() ? "" : ", ") + std::string(variant.name);
    if (name.empty() || name == variant.name) picked = &variant;
  }
  if (picked == nullptr) {
    throw DeviceError("there is no kernel " + std::string(operation) + "=" + std::string(name) + " for " +
                      std::string(setting.architecture) + ": choose from " + names);
  }
  return picked;
}

}  // namespace

std::span<const ResidualVariant> residual_variants() { return kResidualVariants; }
std::span<const GradientVariant> gradient_variants() { return kGradientVariants; }
std::span<const PassVariant> pass_variants() { return kPassVariants; }
std::span<const GramVariant> gram_variants() { return kGramVariants; }
std::span<const GramStepVariant> gram_step_variants() { return kGramStepVariants; }

Choice choose_variants(const Setting& setting, std::string_view forced) {
  constexpr std::array kOperations = {"residual", "gradient", "pass", "gram", "gram_step"};
  std::array<std::string_view, kOperations.size()> names;
  while (!forced.empty()) {
    const std::string_view item = forced.substr(0, forced.find(','));
    forced.remove_prefix(item.size() == forced.size() ? item.size() : item.size() + 1);
    const std::string_view operation = item.substr(0, item.find('='));
    const std::string_view name = operation.size() < item.size() ? item.substr(operation.size() + 1) : "";
    const auto found = std::find(kOperations.begin(), kOperations.end(), operation);
    if (name.empty() || found == kOperations.end()) {
      throw DeviceError("'" + std::string(item) +
                        "' names no kernel: expected residual=VARIANT, gradient=VARIANT, pass=VARIANT, "
                        "gram=VARIANT or gram_step=VARIANT, with commas between");
    }
    names[static_cast<std::size_t>(found - kOperations.begin())] = name;
  }
  if (names[2].empty() && !(names[0].empty() && names[1].empty())) names[2] = kTwoProducts.name;
  return {pick(residual_variants(), kOperations[0], setting, names[0]),
          pick(gradient_variants(), kOperations[1], setting, names[1]),
          pick(pass_variants(), kOperations[2], setting, names[2]),
          pick(gram_variants(), kOperations[3], setting, names[3]),
          pick(gram_step_variants(), kOperations[4], setting, names[4])};
}

std::vector<std::string> forcible_variants(const Setting& setting) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& operation, const auto& variants) {
    for (const auto& variant : variants) {
      if (variant.applies(setting)) names.push_back(operation + "=" + variant.name);
    }
  };
  add("residual", kResidualVariants);
  add("gradient", kGradientVariants);
  add("pass", kPassVariants);
  add("gram", kGramVariants);
  add("gram_step", kGramStepVariants);
  return names;
}

int chunk_images(int images, int compute_units) {
  const auto rounded_up = [](std::int64_t count, std::int64_t size) { return (count + size - 1) / size; };
  const std::int64_t rounds = rounded_up(images, std::int64_t{kChunkImages} * compute_units);
  return static_cast<int>(
      std::max<std::int64_t>(kLeastChunkImages, rounded_up(images, rounds * compute_units)));
}

int chunks_of(int images, int compute_units) {
  return (images - 1) / chunk_images(images, compute_units) + 1;
}

WorkspaceSizes workspace_sizes(int images, int compute_units) {
  const std::size_t count = static_cast<std::size_t>(images);
  WorkspaceSizes sizes;
  sizes.residual = count * kClasses;
  sizes.partial_gradients = static_cast<std::size_t>(chunks_of(images, compute_units)) * kWeights;
  sizes.block_statistics = (count - 1) / kLeastImagesABlock + 1;
  return sizes;
}

}  // namespace mnistd::gpu::kernels

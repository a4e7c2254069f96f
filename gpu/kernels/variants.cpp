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

constexpr std::array kResidualVariants = {ResidualVariant{"1-plain", everywhere, residual_1_plain},
                                          ResidualVariant{"2-tiled", everywhere, residual_2_tiled}};
constexpr std::array kGradientVariants = {GradientVariant{"1-plain", everywhere, gradient_1_plain},
                                          GradientVariant{"2-tiled", everywhere, gradient_2_tiled}};

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
std::span<const GramVariant> gram_variants() { return kGramVariants; }
std::span<const GramStepVariant> gram_step_variants() { return kGramStepVariants; }

Choice choose_variants(const Setting& setting, std::string_view forced) {
  constexpr std::array kOperations = {"residual", "gradient", "gram", "gram_step"};
  std::array<std::string_view, kOperations.size()> names;
  while (!forced.empty()) {
    const std::string_view item = forced.substr(0, forced.find(','));
    forced.remove_prefix(item.size() == forced.size() ? item.size() : item.size() + 1);
    const std::string_view operation = item.substr(0, item.find('='));
    const std::string_view name = operation.size() < item.size() ? item.substr(operation.size() + 1) : "";
    const auto found = std::find(kOperations.begin(), kOperations.end(), operation);
    if (name.empty() || found == kOperations.end()) {
      throw DeviceError("'" + std::string(item) +
                        "' names no kernel: expected residual=VARIANT, gradient=VARIANT, gram=VARIANT or "
                        "gram_step=VARIANT, with commas between");
    }
    names[static_cast<std::size_t>(found - kOperations.begin())] = name;
  }
  return {pick(residual_variants(), kOperations[0], setting, names[0]),
          pick(gradient_variants(), kOperations[1], setting, names[1]),
          pick(gram_variants(), kOperations[2], setting, names[2]),
          pick(gram_step_variants(), kOperations[3], setting, names[3])};
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
  add("gram", kGramVariants);
  add("gram_step", kGramStepVariants);
  return names;
}

int chunks_of(int images) { return (images - 1) / kChunkImages + 1; }

WorkspaceSizes workspace_sizes(int images) {
  const std::size_t count = static_cast<std::size_t>(images);
  WorkspaceSizes sizes;
  sizes.residual = count * kClasses;
  sizes.partial_gradients = static_cast<std::size_t>(chunks_of(images)) * kWeights;
  sizes.block_statistics = (count - 1) / kLeastImagesABlock + 1;
  return sizes;
}

}  // namespace mnistd::gpu::kernels

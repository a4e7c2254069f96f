#include "gpu/kernels/variants.h"

#include <array>
#include <string>

#include "gpu/error.h"

namespace mnistd::gpu::kernels {
namespace {

bool everywhere(const Setting&) { return true; }

constexpr std::array kResidualVariants = {ResidualVariant{"1-plain", everywhere, residual_1_plain},
                                          ResidualVariant{"2-tiled", everywhere, residual_2_tiled}};
constexpr std::array kGradientVariants = {GradientVariant{"1-plain", everywhere, gradient_1_plain},
                                          GradientVariant{"2-tiled", everywhere, gradient_2_tiled}};

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

Choice choose_variants(const Setting& setting, std::string_view forced) {
  std::string_view residual;
  std::string_view gradient;
  while (!forced.empty()) {
    const std::string_view item = forced.substr(0, forced.find(','));
    forced.remove_prefix(item.size() == forced.size() ? item.size() : item.size() + 1);
    const std::string_view operation = item.substr(0, item.find('='));
    const std::string_view name = operation.size() < item.size() ? item.substr(operation.size() + 1) : "";
    if (name.empty() || (operation != "residual" && operation != "gradient")) {
      throw DeviceError(
          "'" + std::string(item) +
          "' names no kernel: expected residual=VARIANT or gradient=VARIANT, with a comma between two");
    }
    (operation == "residual" ? residual : gradient) = name;
  }
  return {pick(residual_variants(), "residual", setting, residual),
          pick(gradient_variants(), "gradient", setting, gradient)};
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

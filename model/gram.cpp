#include "model/gram.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <span>

#include "model/sealed.h"

namespace mnistd::model {
namespace {

using gpu::kClasses;
using gpu::kFeatures;
using gpu::kGramStride;
using gpu::kPixels;
using gpu::kWeights;

constexpr std::size_t kProducts = std::size_t{kFeatures} * kFeatures;
constexpr int kBias = kPixels;

Seal seal_of(std::string_view dataset_digest) { return {"mnd.gram", 1, dataset_digest}; }

// What one of a feature counts in the sums: a pixel's 1 is 255 there.
double unit(int feature) { return feature == kBias ? 1 : 255; }

std::vector<float> padded(const std::vector<double>& rows) {
  const std::size_t count = rows.size() / kFeatures;
  std::vector<float> values(count * kGramStride);
  for (std::size_t row = 0; row < count; ++row)
    for (int a = 0; a < kFeatures; ++a)
      values[row * kGramStride + a] = static_cast<float>(rows[row * kFeatures + a]);
  return values;
}

// Of each system that is made resident.
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// What the definition says of the sums without a look at the images.
bool is_consistent(const Gram& gram) {
  const auto product = [&gram](int a, int b) { return gram.products[std::size_t{kFeatures} * a + b]; };
  const auto images = static_cast<std::uint64_t>(gram.images);
  if (product(kBias, kBias) != images) return false;
  for (int a = 0; a < kFeatures; ++a) {
    std::uint64_t sum = 0;
    for (int c = 0; c < kClasses; ++c) sum += gram.class_sums[kFeatures * c + a];
    if (product(a, kBias) != sum || (a != kBias && product(a, a) > images * 255 * 255)) return false;
    for (int b = 0; b < a; ++b)
      if (product(a, b) != product(b, a)) return false;
  }
  return true;
}

}  // namespace

Gram compute_gram(gpu::Device& device, const gpu::LabelledImages& images) {
  gpu::Buffer<std::uint64_t> products(device, kProducts), class_sums(device, kWeights);
  device.ops().gram(images, products.data(), class_sums.data());
  Gram gram{images.count, products.to_vector(), class_sums.to_vector()};
  if (!is_consistent(gram))
    throw gpu::DeviceError("the device computed a Gram of " + std::to_string(images.count) +
                           " images whose sums contradict one another");
  return gram;
}

std::vector<double> normal_products(const Gram& gram) {
  std::vector<double> values(kProducts);
  for (int a = 0; a < kFeatures; ++a)
    for (int b = 0; b < kFeatures; ++b) {
      const std::size_t at = std::size_t{kFeatures} * a + b;
      values[at] = static_cast<double>(gram.products[at]) / (unit(a) * unit(b) * gram.images);
    }
  return values;
}

std::vector<double> normal_class_sums(const Gram& gram) {
  std::vector<double> values(kWeights);
  for (int i = 0; i < kWeights; ++i)
    values[i] = static_cast<double>(gram.class_sums[i]) / (unit(i % kFeatures) * gram.images);
  return values;
}

ResidentGram::ResidentGram(gpu::Device& device, const Gram& gram)
    : products_(device, padded(normal_products(gram))),
      class_sums_(device, padded(normal_class_sums(gram))),
      images_(gram.images),
      id_(next_id()) {}

std::string to_bytes(const Gram& gram, std::string_view dataset_digest) {
  const std::uint64_t images = static_cast<std::uint64_t>(gram.images);
  return sealed(seal_of(dataset_digest),
                {std::as_bytes(std::span(&images, 1)), std::as_bytes(std::span(gram.products)),
                 std::as_bytes(std::span(gram.class_sums))});
}

Gram gram_from_bytes(std::string_view bytes, std::string_view dataset_digest) {
  const std::string_view payload = unsealed(bytes, seal_of(dataset_digest));
  if (payload.size() != (1 + kProducts + kWeights) * sizeof(std::uint64_t))
    throw SealError("holds another number of sums");
  std::uint64_t images = 0;
  std::memcpy(&images, payload.data(), sizeof images);
  if (images < 1 || images > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw SealError("is of " + std::to_string(images) + " images");
  Gram gram{static_cast<int>(images), std::vector<std::uint64_t>(kProducts),
            std::vector<std::uint64_t>(kWeights)};
  const char* const sums = payload.data() + sizeof images;
  std::memcpy(gram.products.data(), sums, kProducts * sizeof(std::uint64_t));
  std::memcpy(gram.class_sums.data(), sums + kProducts * sizeof(std::uint64_t),
              kWeights * sizeof(std::uint64_t));
  if (!is_consistent(gram)) throw SealError("holds sums that contradict one another");
  return gram;
}

}  // namespace mnistd::model

#include "gpu/bench/exact_gram.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace mnistd::gpu::bench {
namespace {

constexpr int kProofs = 2;

std::uint64_t feature(const HostImages& images, int image, int a) {
  return a == kPixels
             ? 1
             : images.pixels[static_cast<std::size_t>(image) * kPixels + static_cast<std::size_t>(a)];
}

std::vector<std::uint64_t> class_sums_of(const HostImages& images, int count) {
  std::vector<std::uint64_t> sums(kWeights);
  for (int i = 0; i < count; ++i) {
    std::uint64_t* row = sums.data() + kFeatures * images.labels[static_cast<std::size_t>(i)];
    for (int a = 0; a < kFeatures; ++a) row[a] += feature(images, i, a);
  }
  return sums;
}

void add_scaled(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& values,
                std::uint64_t factor) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += factor * values[i];
}

}  // namespace

bool is_gram_of(const HostImages& images, int count, const std::vector<std::uint64_t>& products) {
  std::mt19937_64 random(products.size() + static_cast<std::uint64_t>(count));
  for (int proof = 0; proof < kProofs; ++proof) {
    std::vector<std::uint64_t> v(kFeatures), expected(kFeatures);
    for (std::uint64_t& value : v) value = random() | 1;
    for (int i = 0; i < count; ++i) {
      std::uint64_t y = 0;
      for (int a = 0; a < kFeatures; ++a) y += feature(images, i, a) * v[static_cast<std::size_t>(a)];
      for (int a = 0; a < kFeatures; ++a) expected[static_cast<std::size_t>(a)] += feature(images, i, a) * y;
    }
    for (std::size_t a = 0; a < kFeatures; ++a) {
      std::uint64_t sum = 0;
      for (std::size_t b = 0; b < kFeatures; ++b) sum += products[kFeatures * a + b] * v[b];
      if (sum != expected[a]) return false;
    }
  }
  return true;
}

ExactGram exact_gram(const HostImages& images, int count) {
  const auto device = Device::open({.backend = Backend::cpu});
  const ResidentImages resident(*device, images, count);
  Buffer<std::uint64_t> products(*device, kFeatures * kFeatures), class_sums(*device, kWeights);
  device->ops().gram(resident.view(), products.data(), class_sums.data());
  ExactGram exact{products.to_vector(), class_sums_of(images, count)};
  if (!is_gram_of(images, count, exact.products))
    throw std::runtime_error("the CPU device's XᵀX of " + std::to_string(count) + " images is wrong");
  return exact;
}

ExactGram exact_gram_repeated(const HostImages& images, int count) {
  const int copies = count / images.count();
  const int rest = count % images.count();
  ExactGram sum{std::vector<std::uint64_t>(kFeatures * kFeatures), std::vector<std::uint64_t>(kWeights)};
  const auto add = [&](int part, int times) {
    if (part == 0 || times == 0) return;
    const ExactGram exact = exact_gram(images, part);
    add_scaled(sum.products, exact.products, static_cast<std::uint64_t>(times));
    add_scaled(sum.class_sums, exact.class_sums, static_cast<std::uint64_t>(times));
  };
  add(images.count(), copies);
  add(rest, 1);
  return sum;
}

}  // namespace mnistd::gpu::bench

// The exact products, of every variant, against 64-bit sums of the host, bit for bit.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "gpu/hip/check.h"
#include "gpu/kernels/variants.h"
#include "tests/hip/device_under_test.h"
#include "tests/hip/runner.h"

namespace mnistd::gpu {
namespace {

using Sums = std::vector<std::uint64_t>;
constexpr std::size_t kProducts = std::size_t{kFeatures} * kFeatures;

struct GramResult {
  Sums products;
  Sums class_sums;
  bool operator==(const GramResult&) const = default;
};

// Of the images as they are, row by row of the results.
GramResult expected(const Images& images) {
  GramResult sums{Sums(kProducts), Sums(kWeights)};
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    std::vector<std::uint64_t> x(images.pixels.begin() + static_cast<std::ptrdiff_t>(i * kPixels),
                                 images.pixels.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPixels));
    x.push_back(1);
    for (std::size_t a = 0; a < kFeatures; ++a) {
      for (std::size_t b = 0; b < kFeatures; ++b) sums.products[a * kFeatures + b] += x[a] * x[b];
      sums.class_sums[images.labels[i] * std::size_t{kFeatures} + a] += x[a];
    }
  }
  return sums;
}

// The first entry that differs, told once.
void check_equal(const char* what, const Sums& found, const Sums& right) {
  REQUIRE(found.size() == right.size());
  std::size_t misses = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k] != right[k] && misses++ == 0) first = k;
  }
  CHECK_MESSAGE(misses == 0, what, ": ", misses, " entries are off; row ", first / kFeatures, ", column ",
                first % kFeatures, " is ", found[first], ", expected ", right[first]);
}
void check_equal(const GramResult& found, const GramResult& right) {
  check_equal("products", found.products, right.products);
  check_equal("class sums", found.class_sums, right.class_sums);
}

constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeef;
constexpr std::uint64_t kSentinel = 0xfeedc0defeedc0de;

GramResult run(Device& device, const Images& images) {
  const Buffer<std::uint8_t> pixels(device, images.pixels), labels(device, images.labels);
  GuardedBuffer<std::uint64_t> products(device, kProducts, kPoison, kSentinel);
  GuardedBuffer<std::uint64_t> class_sums(device, kWeights, kPoison, kSentinel);
  device.ops().gram({pixels.data(), labels.data(), static_cast<int>(images.labels.size())}, products.data(),
                    class_sums.data());
  return {products.values(), class_sums.values()};
}

// By a kernel's launcher, cut otherwise than the device would.
GramResult run_cut(Device& device, const kernels::GramVariant& variant, const Images& images,
                   const kernels::GramLimits& limits) {
  const Buffer<std::uint8_t> pixels(device, images.pixels), labels(device, images.labels);
  GuardedBuffer<std::uint64_t> products(device, kProducts, kPoison, kSentinel);
  GuardedBuffer<std::uint64_t> class_sums(device, kWeights, kPoison, kSentinel);
  device.synchronize();
  variant.launch(nullptr, {pixels.data(), labels.data(), static_cast<int>(images.labels.size())},
                 products.data(), class_sums.data(), limits);
  MNISTD_HIP_CHECK(hipStreamSynchronize(nullptr));
  return {products.values(), class_sums.values()};
}

// Names, "gram=1-plain" …, of those that the device can run.
std::vector<std::string> forcible(Device& device, const std::string& operation) {
  std::vector<std::string> names;
  for (const std::string& name : device.info().kernels) {
    if (name.starts_with(operation + "=")) names.push_back(name);
  }
  return names;
}

const kernels::GramVariant& named(const std::string& forced) {
  for (const kernels::GramVariant& variant : kernels::gram_variants()) {
    if (forced == "gram=" + std::string(variant.name)) return variant;
  }
  FAIL("no variant ", forced);
  return kernels::gram_variants().front();
}

}  // namespace

TEST_CASE("every gram kernel sums exactly, at sizes around its tiles") {
  std::vector<Images> all;
  for (int count : {1, 63, 64, 65, 129})
    all.push_back(random_images(count, static_cast<std::uint32_t>(count)));
  all.push_back(uniform_images(67, 255));
  all.push_back(uniform_images(5, 0));
  all.push_back(random_images(9, 3));
  all.back().labels.assign(9, 9);  // one class only
  std::vector<GramResult> right;
  for (const Images& images : all) right.push_back(expected(images));
  const std::vector<std::string> kernels = forcible(*open_under_test(), "gram");
  REQUIRE(kernels.size() >= 2);
  for (const std::string& kernel : kernels) {
    CAPTURE(kernel);
    const auto device = open_under_test(kernel);
    for (std::size_t k = 0; k < all.size(); ++k) {
      CAPTURE(all[k].labels.size());
      check_equal(run(*device, all[k]), right[k]);
    }
  }
}

TEST_CASE("however the work is cut, the sums are the same") {
  const auto device = open_under_test();
  const Images images = random_images(150, 8);
  const GramResult right = expected(images);
  for (const std::string& kernel : forcible(*device, "gram")) {
    if (kernel == "gram=1-plain") continue;  // is not cut
    CAPTURE(kernel);
    // A block with many tiles, and more blocks than there are steps.
    for (int blocks : {3, 500}) {
      CAPTURE(blocks);
      check_equal(run_cut(*device, named(kernel), images, {.blocks = blocks}), right);
    }
    // Sums that go to memory after one step.
    check_equal(run_cut(*device, named(kernel), images, {.blocks = 5, .images_a_sum = 64}), right);
  }
}

#if !defined(MNISTD_EMULATOR_WAVEFRONT)
// An emulator would take minutes; there the limit of a sum is tried by a smaller one, above.
TEST_CASE("sums beyond 32 bits") {
  const std::vector<std::string> kernels = forcible(*open_under_test(), "gram");
  for (int count : {66051, 66052, 70000, 140001}) {
    CAPTURE(count);
    const Images images = uniform_images(count, 255);
    GramResult right{Sums(kProducts), Sums(kWeights)};
    std::uint64_t of_class[kClasses] = {};
    for (std::uint8_t label : images.labels) ++of_class[label];
    for (std::size_t a = 0; a < kFeatures; ++a) {
      for (std::size_t b = 0; b < kFeatures; ++b) {
        right.products[a * kFeatures + b] =
            static_cast<std::uint64_t>(count) * (a < kPixels ? 255 : 1) * (b < kPixels ? 255 : 1);
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        right.class_sums[c * kFeatures + a] = of_class[c] * (a < kPixels ? 255 : 1);
      }
    }
    for (const std::string& kernel : kernels) {
      CAPTURE(kernel);
      const auto device = open_under_test(kernel);
      check_equal(run(*device, images), right);
      // And where one block has all of it.
      if (kernel != "gram=1-plain")
        check_equal(run_cut(*device, named(kernel), images, {.blocks = 1}), right);
    }
  }
}
#endif

TEST_CASE("gram refuses what it cannot do") {
  const auto device = open_under_test();
  const Images images = random_images(2, 1);
  const Buffer<std::uint8_t> pixels(*device, images.pixels), labels(*device, images.labels);
  Buffer<std::uint64_t> products(*device, kProducts), class_sums(*device, kWeights);
  for (int count : {0, -1}) {
    CHECK_THROWS_AS(
        device->ops().gram({pixels.data(), labels.data(), count}, products.data(), class_sums.data()),
        DeviceError);
  }
  CHECK_THROWS_AS(
      device->ops().gram({pixels.data() + 2, labels.data(), 1}, products.data(), class_sums.data()),
      DeviceError);
}

}  // namespace mnistd::gpu

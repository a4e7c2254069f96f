#include "model/gram.h"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "model/dataset.h"
#include "model/sealed.h"
#include "tests/model/contains.h"
#include "tests/model/synthetic.h"

using namespace mnistd;
using test::Contains;

namespace {

const std::string kDigest = "0123456789abcdef";

std::unique_ptr<gpu::Device> cpu_device() {
  return gpu::Device::open({.backend = gpu::Backend::cpu, .threads = 2});
}

model::Gram gram_of(const std::shared_ptr<const model::Dataset>& dataset) {
  const auto device = cpu_device();
  return *model::ResidentDataset(*device, dataset).gram();
}

// By the definition, feature by feature.
std::uint64_t feature(const model::Split& split, int image, int a) {
  return a == 784 ? 1 : split.pixels[image * 784 + a];
}

std::string message_of(std::string_view bytes, std::string_view digest = kDigest) {
  try {
    model::gram_from_bytes(bytes, digest);
  } catch (const model::SealError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a Gram holds the sums over all images, to the last one") {
  for (const int images : {1, 2, 67}) {
    const auto dataset = test::synthetic_dataset(images, 3, 5);
    const model::Gram gram = gram_of(dataset);
    const model::Split& train = dataset->train;
    CHECK(gram.images == images);
    REQUIRE(gram.products.size() == 785 * 785);
    REQUIRE(gram.class_sums.size() == 7850);
    int wrong = 0;
    for (int a = 0; a < 785; ++a)
      for (int b = 0; b < 785; ++b) {
        std::uint64_t sum = 0;
        for (int i = 0; i < images; ++i) sum += feature(train, i, a) * feature(train, i, b);
        wrong += gram.products[a * 785 + b] != sum ? 1 : 0;
      }
    for (int c = 0; c < 10; ++c)
      for (int a = 0; a < 785; ++a) {
        std::uint64_t sum = 0;
        for (int i = 0; i < images; ++i) sum += train.labels[i] == c ? feature(train, i, a) : 0;
        wrong += gram.class_sums[c * 785 + a] != sum ? 1 : 0;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the normal equations are the means of products of pixels from 0 to 1") {
  const auto dataset = test::synthetic_dataset(31, 3, 6);
  const model::Gram gram = gram_of(dataset);
  const auto value = [&](int image, int a) {
    return a == 784 ? 1.0 : dataset->train.pixels[image * 784 + a] / 255.0;
  };
  const auto products = model::normal_products(gram);
  const auto class_sums = model::normal_class_sums(gram);
  const auto device = cpu_device();
  const model::ResidentGram resident(*device, gram);
  const gpu::GramSystem system = resident.system();
  const model::ResidentGram another(*device, gram);
  CHECK(system.id != 0);
  CHECK(another.system().id != system.id);
  CHECK(system.images == 31);
  double worst = 0;
  int wrong = 0;
  const auto compare = [&](double found, double expected, float resident_value) {
    worst = std::max(worst, std::abs(found - expected));
    wrong += resident_value != static_cast<float>(found) ? 1 : 0;
  };
  for (int a = 0; a < 785; ++a)
    for (int b = 0; b < 785; ++b) {
      double mean = 0;
      for (int i = 0; i < 31; ++i) mean += value(i, a) * value(i, b) / 31;
      compare(products[a * 785 + b], mean, system.products[a * gpu::kGramStride + b]);
    }
  for (int c = 0; c < 10; ++c)
    for (int a = 0; a < 785; ++a) {
      double mean = 0;
      for (int i = 0; i < 31; ++i) mean += dataset->train.labels[i] == c ? value(i, a) / 31 : 0;
      compare(class_sums[c * 785 + a], mean, system.class_sums[c * gpu::kGramStride + a]);
    }
  CHECK(worst < 1e-14);
  CHECK(wrong == 0);
  for (int row = 0; row < 785; ++row)
    for (int pad = 785; pad < gpu::kGramStride; ++pad) {
      wrong += system.products[row * gpu::kGramStride + pad] != 0 ? 1 : 0;
      wrong += row < 10 && system.class_sums[row * gpu::kGramStride + pad] != 0 ? 1 : 0;
    }
  CHECK(wrong == 0);
}

TEST_CASE("a Gram goes through bytes and comes back the same") {
  const model::Gram gram = gram_of(test::synthetic_dataset(40, 3, 7));
  const std::string bytes = model::to_bytes(gram, kDigest);
  CHECK(bytes.size() <= model::kMaximumGramBytes);
  const model::Gram back = model::gram_from_bytes(bytes, kDigest);
  CHECK(back.images == gram.images);
  CHECK(back.products == gram.products);
  CHECK(back.class_sums == gram.class_sums);
}

TEST_CASE("bytes that are damaged, cut off, foreign or of other data are told from a Gram") {
  const model::Gram gram = gram_of(test::synthetic_dataset(40, 3, 7));
  const std::string bytes = model::to_bytes(gram, kDigest);
  REQUIRE(message_of(bytes).empty());
  CHECK(message_of("") == Contains("holds 0 bytes, too few"));
  CHECK(message_of("a text of somebody, long enough to have a header and a digest") ==
        Contains("is no mnd.gram"));
  CHECK(message_of(bytes, "0123456789abcde0") == Contains("is of another dataset"));
  CHECK(message_of(bytes + "x") == Contains("; expected " + std::to_string(bytes.size())));
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const std::size_t cut = random() % bytes.size();
    CHECK(message_of(bytes.substr(0, cut)) != "");
    std::string flipped = bytes;
    flipped[i < 48 ? i : random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    CHECK(message_of(flipped) != "");
  }
}

TEST_CASE("sums that contradict one another are no Gram, even under a whole seal") {
  const model::Gram good = gram_of(test::synthetic_dataset(40, 3, 7));
  const auto contradicts = [&](const auto& change) {
    model::Gram gram = good;
    change(gram);
    return message_of(model::to_bytes(gram, kDigest)) == Contains("contradict one another");
  };
  CHECK(contradicts([](model::Gram& gram) { ++gram.images; }));
  CHECK(contradicts([](model::Gram& gram) { ++gram.products[784 * 785 + 784]; }));
  CHECK(contradicts([](model::Gram& gram) { ++gram.products[3 * 785 + 5]; }));
  CHECK(contradicts([](model::Gram& gram) { ++gram.class_sums[17]; }));
  CHECK(contradicts([](model::Gram& gram) { gram.products[5 * 785 + 5] = 255 * 255 * 40 + 1; }));
  model::Gram none = good;
  none.images = 0;
  CHECK(message_of(model::to_bytes(none, kDigest)) == Contains("is of 0 images"));
}

TEST_CASE("an adopted Gram is used, and one of another number of images refused") {
  const auto device = cpu_device();
  const auto dataset = test::synthetic_dataset(20, 3, 8);
  model::ResidentDataset resident(*device, dataset);
  auto mine = std::make_shared<model::Gram>(gram_of(dataset));
  resident.adopt(mine);
  CHECK(resident.gram() == mine);
  const auto other = std::make_shared<model::Gram>(gram_of(test::synthetic_dataset(21, 3, 8)));
  CHECK_THROWS_AS(resident.adopt(other), std::invalid_argument);
  CHECK(resident.gram_system().images == 20);
}

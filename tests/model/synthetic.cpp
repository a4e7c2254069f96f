#include "tests/model/synthetic.h"

#include <random>

namespace mnistd::test {

std::shared_ptr<const model::Dataset> synthetic_dataset(int train_count, int test_count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> pictures(10 * 784);
  for (auto& pixel : pictures) pixel = random() % 5 == 0 ? static_cast<std::uint8_t>(random() % 256) : 0;
  const auto make = [&](int count) {
    model::Split split;
    for (int i = 0; i < count; ++i) {
      const unsigned label = random() % 10;
      split.labels.push_back(static_cast<std::uint8_t>(label));
      for (int pixel = 0; pixel < 784; ++pixel) {
        const bool noise = random() % 4 == 0;
        split.pixels.push_back(noise ? static_cast<std::uint8_t>(random() % 200)
                                     : pictures[label * 784 + pixel]);
      }
    }
    return split;
  };
  auto dataset = std::make_shared<model::Dataset>();
  dataset->name = "synthetic";
  dataset->train = make(train_count);
  dataset->test = make(test_count);
  return dataset;
}

}  // namespace mnistd::test

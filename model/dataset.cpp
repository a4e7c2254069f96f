#include "model/dataset.h"

#include <algorithm>
#include <utility>

#include "model/digest.h"

namespace mnistd::model {
namespace {

struct SplitFiles {
  std::filesystem::path images;
  std::filesystem::path labels;
};

SplitFiles find_split(const std::filesystem::path& directory, const std::string& stem) {
  return {find_idx(directory, stem + "-images", 3), find_idx(directory, stem + "-labels", 1)};
}

Split load_split(const SplitFiles& files) {
  IdxFile images = read_idx(files.images, 3);
  const std::uint32_t count = images.dimensions[0];
  if (count == 0) throw DatasetError(files.images.string() + ": holds no images; expected at least one");
  if (images.dimensions[1] != kRows || images.dimensions[2] != kColumns)
    throw DatasetError(files.images.string() + ": holds images of " + std::to_string(images.dimensions[1]) +
                       "x" + std::to_string(images.dimensions[2]) + " pixels; expected 28x28");

  IdxFile labels = read_idx(files.labels, 1);
  if (labels.dimensions[0] != count)
    throw DatasetError(files.labels.string() + ": holds " + std::to_string(labels.dimensions[0]) +
                       " labels; expected " + std::to_string(count) + ", one for each image of " +
                       files.images.string());
  const auto wrong =
      std::ranges::find_if(labels.values, [](std::uint8_t label) { return label >= kClasses; });
  if (wrong != labels.values.end())
    throw DatasetError(files.labels.string() + ": holds label " + std::to_string(*wrong) + " at index " +
                       std::to_string(wrong - labels.values.begin()) + "; expected labels 0 to 9");
  return {std::move(images.values), std::move(labels.values)};
}

std::string digest_of(const Dataset& dataset) {
  std::uint64_t joined = 0;
  for (const Split* split : {&dataset.train, &dataset.test}) {
    joined = digest(std::as_bytes(std::span(split->pixels)), joined);
    joined = digest(std::as_bytes(std::span(split->labels)), joined);
  }
  return digest_text(joined);
}

}  // namespace

std::string_view to_string(SplitName split) { return split == SplitName::train ? "train" : "test"; }

std::optional<SplitName> parse_split(std::string_view text) {
  if (text == "train") return SplitName::train;
  if (text == "test") return SplitName::test;
  return std::nullopt;
}

std::shared_ptr<const Dataset> load_dataset(const std::string& name, const std::filesystem::path& directory) {
  // All names first: what is missing is said before a second is spent on what is there.
  const SplitFiles train = find_split(directory, "train");
  const SplitFiles test = find_split(directory, "t10k");
  auto dataset = std::make_shared<Dataset>();
  dataset->name = name;
  dataset->test = load_split(test);
  dataset->train = load_split(train);
  dataset->digest = digest_of(*dataset);
  return dataset;
}

ResidentDataset::ResidentDataset(gpu::Device& device, std::shared_ptr<const Dataset> dataset)
    : device_(&device),
      host_(std::move(dataset)),
      train_pixels_(device, std::span(host_->train.pixels)),
      train_labels_(device, std::span(host_->train.labels)),
      test_pixels_(device, std::span(host_->test.pixels)),
      test_labels_(device, std::span(host_->test.labels)) {}

gpu::LabelledImages ResidentDataset::train() const {
  return {train_pixels_.data(), train_labels_.data(), host_->train.count()};
}

gpu::LabelledImages ResidentDataset::test() const {
  return {test_pixels_.data(), test_labels_.data(), host_->test.count()};
}

std::shared_ptr<const Gram> ResidentDataset::gram() const {
  if (!gram_) gram_ = std::make_shared<const Gram>(compute_gram(*device_, train()));
  return gram_;
}

void ResidentDataset::adopt(std::shared_ptr<const Gram> gram) {
  if (gram == gram_) return;
  if (gram->images != host_->train.count())
    throw std::invalid_argument("a Gram of " + std::to_string(gram->images) + " images for a dataset of " +
                                std::to_string(host_->train.count()));
  gram_ = std::move(gram);
  resident_gram_.reset();
}

gpu::GramSystem ResidentDataset::gram_system() const {
  if (!resident_gram_) resident_gram_.emplace(*device_, *gram());
  return resident_gram_->system();
}

}  // namespace mnistd::model

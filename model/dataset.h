// A dataset of labelled 28×28 digits: its bytes in host memory, and the same bytes resident on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "model/gram.h"
#include "model/idx_file.h"

namespace mnistd::model {

inline constexpr int kRows = 28;
inline constexpr int kColumns = 28;
inline constexpr int kPixels = gpu::kPixels;
inline constexpr int kClasses = gpu::kClasses;

using Image = std::span<const std::uint8_t, kPixels>;  // row-major, 0 paper, 255 ink

enum class SplitName { train, test };
std::string_view to_string(SplitName split);  // "train", "test"
std::optional<SplitName> parse_split(std::string_view text);

struct Split {
  std::vector<std::uint8_t> pixels;  // count × 784
  std::vector<std::uint8_t> labels;  // count, each 0..9
  int count() const { return static_cast<int>(labels.size()); }
  Image image(int index) const { return Image(pixels.data() + std::size_t{kPixels} * index, kPixels); }
};

// Immutable once loaded; any thread.
struct Dataset {
  std::string name;
  Split train;
  Split test;
  std::string digest;  // of the bytes of both splits, 16 hexadecimal digits; another one, other data
  const Split& split(SplitName which) const { return which == SplitName::train ? train : test; }
};

// Reads and checks the four files in `directory`: 28×28, as many labels as images, labels 0–9, at least one image a
// split. Throws DatasetError.
std::shared_ptr<const Dataset> load_dataset(const std::string& name, const std::filesystem::path& directory);

// The bytes of a Dataset in a device's memory, and what is worked out of them there. Must not outlive the device; the
// device's thread only.
class ResidentDataset {
 public:
  ResidentDataset(gpu::Device& device, std::shared_ptr<const Dataset> dataset);
  const Dataset& host() const { return *host_; }
  gpu::LabelledImages train() const;
  gpu::LabelledImages test() const;

  // Of the training split: computed by the device at the first call, unless one of an earlier run was adopted.
  std::shared_ptr<const Gram> gram() const;
  void adopt(std::shared_ptr<const Gram> gram);  // must be of this dataset
  // The Gram in the device's memory, put there at the first call.
  gpu::GramSystem gram_system() const;

 private:
  gpu::Device* device_;
  std::shared_ptr<const Dataset> host_;
  gpu::Buffer<std::uint8_t> train_pixels_, train_labels_, test_pixels_, test_labels_;
  mutable std::shared_ptr<const Gram> gram_;
  mutable std::optional<ResidentGram> resident_gram_;
};

}  // namespace mnistd::model

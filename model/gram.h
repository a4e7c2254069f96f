// The Gram of a dataset: all that least squares needs to know of its images, in exact sums. It is computed once a dataset,
// by the device, and kept: the gram solver descends by it, and its eigenvalues (spectrum.h) say how such a descent goes.
//
// Sums of bytes are whole numbers, so a Gram is right to the last bit, on every device and in every order of adding up:
// what is kept of it can be checked, and two devices can be compared for equality.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"

namespace mnistd::model {

// Row i of X is here the bytes of image i and a 1 for the bias.
struct Gram {
  int images = 0;                         // n
  std::vector<std::uint64_t> products;    // Xᵀ X, 785×785
  std::vector<std::uint64_t> class_sums;  // Y X, 10×785
};

// By the device, from images in its memory. Throws gpu::DeviceError.
Gram compute_gram(gpu::Device& device, const gpu::LabelledImages& images);

// XᵀX/n (785×785) and YX/n (10×785) of pixels divided by 255, each entry rounded once.
std::vector<double> normal_products(const Gram& gram);
std::vector<double> normal_class_sums(const Gram& gram);

// The same in a device's memory, rounded to float, as gram_descend takes it. Must not outlive the device; its thread only.
class ResidentGram {
 public:
  ResidentGram(gpu::Device& device, const Gram& gram);
  gpu::GramSystem system() const { return {products_.data(), class_sums_.data(), images_, id_}; }

 private:
  gpu::Buffer<float> products_, class_sums_;
  int images_ = 0;
  std::uint64_t id_ = 0;
};

// For a file, see sealed.h. from_bytes throws SealError where the bytes are damaged, of another dataset than that of
// `dataset_digest`, or no Gram: also where sums contradict one another though the seal is whole.
std::string to_bytes(const Gram& gram, std::string_view dataset_digest);
Gram gram_from_bytes(std::string_view bytes, std::string_view dataset_digest);
inline constexpr std::size_t kMaximumGramBytes = 6'000'000;  // more is none

}  // namespace mnistd::model

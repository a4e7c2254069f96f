// A HIP device for tests: the CPU's, but the operation that MNISTD_FAULT names is computed wrong, in one place and by little.
// "operation" alone, or "operation:images" for that number of images only.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/hip/open_device.h"

namespace mnistd::gpu::hip {
namespace {

class FaultyDevice final : public Device, private Ops {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, std::string fault)
      : inner_(std::move(inner)), fault_(std::move(fault)), info_(inner_->info()) {
    info_.backend = "hip";
    info_.kernels = {"residual=1-right", "gradient=1-right"};
  }

  const DeviceInfo& info() const override { return info_; }
  Ops& ops() override { return *this; }
  std::uint64_t memory_in_use() const override { return inner_->memory_in_use(); }
  std::uint64_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  int pipeline_depth() const override { return inner_->pipeline_depth(); }
  void synchronize() override { inner_->synchronize(); }
  gpu::Event record() override { return inner_->record(); }
  double elapsed_ms(gpu::Event begin, gpu::Event end) override { return inner_->elapsed_ms(begin, end); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* memory) noexcept override { inner_->release(memory); }
  void upload(void* device, const void* host, std::size_t bytes) override {
    inner_->upload(device, host, bytes);
  }
  void download(void* host, const void* device, std::size_t bytes) override {
    inner_->download(host, device, bytes);
  }
  void fill_zero(void* device, std::size_t bytes) override { inner_->fill_zero(device, bytes); }
  Limits measure_limits() override { return inner_->measure_limits(); }
  void empty_cache() override { inner_->empty_cache(); }

 private:
  bool faulty(const std::string& operation, int images = 0) const {
    return fault_ == operation || fault_ == operation + ":" + std::to_string(images);
  }

  void initialise(float* weights, std::uint32_t seed) override {
    inner_->ops().initialise(weights, seed);
    if (faulty("initialise")) weights[kWeights - 1] = std::nextafter(weights[kWeights - 1], 1.0f);
  }
  void residual(const LabelledImages& images, const float* weights, float* residual,
                PassStatistics* statistics) override {
    inner_->ops().residual(images, weights, residual, statistics);
    if (faulty("residual", images.count)) residual[kClasses * images.count - 1] += 0.001f;
    if (faulty("overrun", images.count)) residual[kClasses * images.count] = 0;
    if (faulty("unwritten", images.count)) residual[0] = std::nanf("");
    if (faulty("squared_residual", images.count)) statistics->squared_residual *= 1.0001;
    if (faulty("correct", images.count)) ++statistics->correct;
    if (faulty("lost", images.count)) throw DeviceLost("the device has left");
    if (faulty("error", images.count)) throw DeviceError("the kernel was not launched");
  }
  void gradient(const LabelledImages& images, const float* residual, float* gradient) override {
    inner_->ops().gradient(images, residual, gradient);
    if (faulty("gradient", images.count)) gradient[0] += 0.001f;
  }
  void loss_and_gradient(const LabelledImages& images, const float* weights, float* gradient,
                         PassStatistics* statistics) override {
    inner_->ops().loss_and_gradient(images, weights, gradient, statistics);
    if (faulty("loss_and_gradient", images.count)) gradient[kPixels] += 0.01f;
  }
  void step(float* weights, const float* gradient, float rate) override {
    inner_->ops().step(weights, gradient, faulty("step") ? 1.001f * rate : rate);
  }
  void descend(const LabelledImages& images, float* weights, float rate, int count,
               PassStatistics* statistics) override {
    std::vector<float> slope(kWeights);
    for (int k = 0; k < count; ++k) {
      loss_and_gradient(images, weights, slope.data(), statistics + k);
      step(weights, slope.data(), rate);
    }
  }
  void gram(const LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) override {
    inner_->ops().gram(images, products, class_sums);
    if (faulty("gram", images.count)) ++products[kFeatures * kFeatures - 1];
    if (faulty("class_sums", images.count)) ++class_sums[kWeights - 1];
  }
  void gram_descend(const GramSystem& system, float* weights, float rate, int count,
                    PassStatistics* statistics) override {
    inner_->ops().gram_descend(system, weights, rate, count, statistics);
    if (faulty("gram_descend")) weights[0] += 0.001f;
  }
  void scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) override {
    inner_->ops().scores(pixels, count, weights, scores);
    if (faulty("scores", count)) scores[0] += 0.001f;
  }
  void count_correct(const LabelledImages& images, const float* weights, std::uint32_t* correct) override {
    inner_->ops().count_correct(images, weights, correct);
    if (faulty("count_correct", images.count)) ++*correct;
  }

  std::unique_ptr<Device> inner_;
  std::string fault_;
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> open_device(const DeviceOptions& options) {
  DeviceOptions inner = options;
  inner.kernel.clear();  // of this device, not of the CPU's
  inner.backend = Backend::cpu;
  const char* fault = std::getenv("MNISTD_FAULT");
  return std::make_unique<FaultyDevice>(Device::open(inner), fault == nullptr ? "" : fault);
}

}  // namespace mnistd::gpu::hip

// A device that says it pipelines: another device behind a queue depth of choice. It counts how many updates are put on
// the stream between two waits, can make the evaluation of a split slow, and can pretend what an update takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "gpu/device.h"

namespace mnistd::test {

class PipelinedDevice final : public gpu::Device, private gpu::Ops {
 public:
  PipelinedDevice(std::unique_ptr<gpu::Device> inner, int depth) : inner_(std::move(inner)), depth_(depth) {}

  int most_between_waits() const { return most_; }
  void pretend_update_takes(double milliseconds) { update_ms_ = milliseconds; }
  void delay_count_correct(std::chrono::milliseconds delay) { delay_ = delay; }

  const gpu::DeviceInfo& info() const override { return inner_->info(); }
  gpu::Ops& ops() override { return *this; }
  std::uint64_t memory_in_use() const override { return inner_->memory_in_use(); }
  std::uint64_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  int pipeline_depth() const override { return depth_; }
  void synchronize() override {
    waited();
    inner_->synchronize();
  }
  gpu::Event record() override { return update_ms_ ? gpu::Event{updates_} : inner_->record(); }
  double elapsed_ms(gpu::Event begin, gpu::Event end) override {
    waited();
    if (update_ms_) return static_cast<double>(end.id - begin.id) * *update_ms_;
    return inner_->elapsed_ms(begin, end);
  }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* memory) noexcept override { inner_->release(memory); }
  void upload(void* device, const void* host, std::size_t bytes) override {
    inner_->upload(device, host, bytes);
  }
  void download(void* host, const void* device, std::size_t bytes) override {
    waited();
    inner_->download(host, device, bytes);
  }
  void fill_zero(void* device, std::size_t bytes) override { inner_->fill_zero(device, bytes); }
  gpu::Limits measure_limits() override { return inner_->measure_limits(); }
  void empty_cache() override { inner_->empty_cache(); }

 private:
  void waited() { queued_ = 0; }

  void initialise(float* weights, std::uint32_t seed) override { inner_->ops().initialise(weights, seed); }
  void residual(const gpu::LabelledImages& images, const float* weights, float* residual,
                gpu::PassStatistics* statistics) override {
    inner_->ops().residual(images, weights, residual, statistics);
  }
  void gradient(const gpu::LabelledImages& images, const float* residual, float* gradient) override {
    inner_->ops().gradient(images, residual, gradient);
  }
  void loss_and_gradient(const gpu::LabelledImages& images, const float* weights, float* gradient,
                         gpu::PassStatistics* statistics) override {
    inner_->ops().loss_and_gradient(images, weights, gradient, statistics);
  }
  void step(float* weights, const float* gradient, float rate) override {
    inner_->ops().step(weights, gradient, rate);
  }
  void descend(const gpu::LabelledImages& images, float* weights, float rate, int count,
               gpu::PassStatistics* statistics) override {
    updates_ += count;
    most_ = std::max(most_, queued_ += count);
    inner_->ops().descend(images, weights, rate, count, statistics);
  }
  void gram(const gpu::LabelledImages& images, std::uint64_t* products, std::uint64_t* class_sums) override {
    inner_->ops().gram(images, products, class_sums);
  }
  void gram_descend(const gpu::GramSystem& system, float* weights, float rate, int count,
                    gpu::PassStatistics* statistics) override {
    updates_ += count;
    most_ = std::max(most_, queued_ += count);
    inner_->ops().gram_descend(system, weights, rate, count, statistics);
  }
  void scores(const std::uint8_t* pixels, int count, const float* weights, float* scores) override {
    inner_->ops().scores(pixels, count, weights, scores);
  }
  void count_correct(const gpu::LabelledImages& images, const float* weights,
                     std::uint32_t* correct) override {
    std::this_thread::sleep_for(delay_);
    inner_->ops().count_correct(images, weights, correct);
  }

  std::unique_ptr<gpu::Device> inner_;
  int depth_;
  int queued_ = 0;
  int most_ = 0;
  std::uint64_t updates_ = 0;
  std::optional<double> update_ms_;
  std::chrono::milliseconds delay_{0};
};

}  // namespace mnistd::test

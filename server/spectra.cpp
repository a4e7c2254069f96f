#include "server/spectra.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "model/sealed.h"

namespace mnistd::server {

namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr int kRetry_s = 2;

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// What a crash left half written.
void remove_partial_files(const std::filesystem::path& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".partial") std::filesystem::remove(entry.path(), error);
  }
}

// The value in a file, or nothing where there is none or it is no good.
template <class Value, class FromBytes>
std::shared_ptr<const Value> kept(const std::filesystem::path& file, std::size_t limit,
                                  const FromBytes& from_bytes) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, error))) return nullptr;
  try {
    return std::make_shared<const Value>(from_bytes(read_plain_file(file, limit)));
  } catch (const model::SealError& broken) {
    spdlog::warn("file {} {}; it is made again", file.string(), broken.what());
  } catch (const StoreError& unreadable) {
    spdlog::warn("{}; it is made again", unreadable.what());
  }
  return nullptr;
}

}  // namespace

Spectra::Spectra(const DataDir& data_dir, const Datasets& datasets, bool eager) : data_dir_(data_dir) {
  remove_partial_files(data_dir.cache());
  for (const auto& [name, dataset] : datasets) {
    Entry& entry = entries_[name];
    entry.digest = dataset->digest;
    entry.asked = eager;
    load(name, entry);
    if (entry.gram && entry.gram->images != dataset->train.count()) {
      entry.gram.reset();
      entry.gram_is_kept = false;
    }
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Spectra::~Spectra() {
  thread_.request_stop();
  changed_.notify_all();
}

void Spectra::load(const std::string& name, Entry& entry) {
  const std::string& digest = entry.digest;
  entry.gram =
      kept<model::Gram>(data_dir_.cache(digest + ".gram"), model::kMaximumGramBytes,
                        [&](const std::string& bytes) { return model::gram_from_bytes(bytes, digest); });
  entry.gram_is_kept = entry.gram != nullptr;
  entry.spectrum = kept<model::Spectrum>(
      data_dir_.cache(digest + ".spectrum"), model::kMaximumSpectrumBytes,
      [&](const std::string& bytes) { return model::spectrum_from_bytes(bytes, digest); });
  if (entry.spectrum)
    spdlog::debug("dataset {}: stability limit {}, as kept", name,
                  format_limit(entry.spectrum->stability_limit()));
}

std::shared_ptr<const model::Spectrum> Spectra::known(const std::string& dataset) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(dataset);
  return found == entries_.end() ? nullptr : found->second.spectrum;
}

std::shared_ptr<const model::Spectrum> Spectra::ask(const std::string& dataset) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(dataset);
  if (!entry.spectrum) {
    entry.asked = true;
    changed_.notify_all();
  }
  return entry.spectrum;
}

std::shared_ptr<const model::Spectrum> Spectra::wait_for(const std::string& dataset) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_.at(dataset);
  if (!entry.spectrum) {
    entry.asked = true;
    entry.trouble.clear();
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [&] { return entry.spectrum || !entry.trouble.empty(); });
  }
  if (entry.spectrum) return entry.spectrum;
  if (!entry.trouble.empty())
    throw Unavailable(kRetry_s, "the stability limit of " + dataset + " is not known: " + entry.trouble);
  throw Unavailable(kRetry_s, "the stability limit of " + dataset +
                                  " is not known yet; it is worked out once, as soon as the device is free");
}

std::optional<std::string> Spectra::wanted() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_)
    if (entry.asked && !entry.gram) return name;
  return std::nullopt;
}

std::shared_ptr<const model::Gram> Spectra::gram(const std::string& dataset) {
  const std::lock_guard lock(mutex_);
  return entries_.at(dataset).gram;
}

void Spectra::give(const std::string& dataset, std::shared_ptr<const model::Gram> gram) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(dataset);
  if (entry.gram) return;
  entry.gram = std::move(gram);
  entry.trouble.clear();
  changed_.notify_all();
}

void Spectra::give_up(const std::string& dataset, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(dataset);
  entry.asked = false;
  entry.trouble = why;
  changed_.notify_all();
}

Spectra::Entry* Spectra::next() {
  for (auto& [name, entry] : entries_)
    if (entry.gram && (!entry.gram_is_kept || (entry.asked && !entry.spectrum))) return &entry;
  return nullptr;
}

void Spectra::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    Entry* entry = nullptr;
    if (!changed_.wait(lock, stop, [&] { return (entry = next()) != nullptr; })) return;
    const auto name = std::ranges::find_if(entries_, [&](const auto& item) { return &item.second == entry; });
    const auto gram = entry->gram;
    const bool write_gram = !std::exchange(entry->gram_is_kept, true);
    const bool find_spectrum = entry->asked && !entry->spectrum;
    lock.unlock();
    std::shared_ptr<const model::Spectrum> spectrum;
    std::string trouble;
    if (find_spectrum) {
      const auto begin = std::chrono::steady_clock::now();
      try {
        spectrum = std::make_shared<const model::Spectrum>(model::compute_spectrum(*gram));
        spdlog::info("dataset {}: stability limit {}, worked out in {:.0f} ms", name->first,
                     format_limit(spectrum->stability_limit()), milliseconds_since(begin));
      } catch (const std::exception& error) {
        trouble = error.what();
        spdlog::warn("dataset {}: no stability limit: {}", name->first, trouble);
      }
    }
    lock.lock();
    if (find_spectrum) {
      entry->spectrum = spectrum;
      entry->trouble = trouble;
      entry->asked = false;
      changed_.notify_all();
    }
    lock.unlock();
    // Who waits has it; only now to the disk.
    if (write_gram) keep(name->first, entry->digest + ".gram", model::to_bytes(*gram, entry->digest));
    if (spectrum) keep(name->first, entry->digest + ".spectrum", model::to_bytes(*spectrum, entry->digest));
    lock.lock();
  }
}

// A cache that can't be written costs the next start a second and nothing else.
void Spectra::keep(const std::string& name, const std::filesystem::path& file,
                   const std::string& bytes) const {
  try {
    std::error_code error;
    std::filesystem::create_directory(data_dir_.cache(), error);
    write_file_atomically(data_dir_.cache() / file, bytes);
  } catch (const StoreError& error) {
    spdlog::warn("dataset {}: {}; the next start works it out again", name, error.what());
  }
}

std::string format_limit(double limit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", limit);
  return text;
}

std::optional<std::string> stability_warning(const JobSpec& spec, const model::Spectrum& spectrum) {
  const double limit = spectrum.stability_limit();
  if (spec.model != "linear" || !(spec.train.learning_rate > limit)) return std::nullopt;
  char rate[32];
  const auto end = std::to_chars(rate, rate + sizeof rate, spec.train.learning_rate).ptr;
  return "the learning rate " + std::string(rate, end) + " is above the stability limit of " + spec.dataset +
         ", " + format_limit(limit) +
         ": the loss grows, and the job fails where it leaves the finite numbers; stay below the limit "
         "or take \"auto\"";
}

}  // namespace mnistd::server

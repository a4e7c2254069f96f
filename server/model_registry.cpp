#include "server/model_registry.h"

#include <charconv>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "model/digest.h"
#include "model/weights_file.h"

namespace mnistd::server {

namespace {

constexpr std::string_view kExtension = ".safetensors";
constexpr std::size_t kLargestWeights = std::size_t{64} << 20;  // of a file, far above any model's

// The shortest text that gives the number back.
std::string shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

model::WeightsMetadata metadata_of(const ModelRecord& record) {
  const model::TrainSpec& train = record.spec.train;
  model::WeightsMetadata metadata = {
      {"dataset", record.spec.dataset},
      {"model", record.spec.model},
      {"solver", std::string(to_string(train.solver))},
      {"iterations", std::to_string(train.iterations)},
      {"learning_rate", shortest(train.learning_rate)},
      {"seed", std::to_string(train.seed)},
      {"loss", shortest(record.loss)},
      {"train_accuracy", shortest(static_cast<double>(record.train_correct) / record.train_count)},
      {"test_accuracy", shortest(record.test.accuracy())}};
  if (record.dataset_digest) metadata["dataset_digest"] = *record.dataset_digest;
  return metadata;
}

std::string digest_of(std::string_view bytes) {
  return model::digest_text(model::digest(std::as_bytes(std::span(bytes))));
}

// The weights that the record tells of.
std::vector<float> read_weights(const std::filesystem::path& file, const ModelRecord& record) {
  try {
    const std::string bytes = read_plain_file(file, kLargestWeights);
    std::vector<float> weights = model::from_safetensors(bytes);
    if (const std::string found = digest_of(bytes); record.weights_digest.value_or(found) != found) {
      throw model::WeightsError("its bytes are not those that were written (digest " + found + ", expected " +
                                *record.weights_digest + ")");
    }
    return weights;
  } catch (const model::WeightsError& error) {
    throw StoreError("weights file " + file.string() + " is damaged: " + error.what() +
                     "; delete the model or put the file back");
  } catch (const StoreError& error) {
    throw StoreError("weights " + std::string(error.what()) + "; delete the model or put the file back");
  }
}

}  // namespace

struct ServedModel::LabelCache {
  struct Labels {
    std::once_flag once;
    std::vector<std::uint8_t> values;
  };
  std::mutex mutex;
  std::map<std::pair<std::string, model::SplitName>, Labels> splits;  // a map's values stay where they are
};

ServedModel::ServedModel(ModelRecord record_, model::LinearModel linear_)
    : record(std::move(record_)), linear(std::move(linear_)), cache_(std::make_unique<LabelCache>()) {}

ServedModel::~ServedModel() = default;

const std::vector<std::uint8_t>& ServedModel::labels_of(const model::Dataset& dataset,
                                                        model::SplitName split) const {
  LabelCache::Labels* labels = nullptr;
  {
    const std::lock_guard lock(cache_->mutex);
    labels = &cache_->splits[{dataset.name, split}];
  }
  std::call_once(labels->once, [&] { labels->values = linear.labels(dataset.split(split).pixels); });
  return labels->values;
}

ModelRegistry::ModelRegistry(const DataDir& data_dir, JobStore& store) : data_dir_(data_dir), store_(store) {
  remove_orphans();
  chosen_ = store_.chosen_model();
  choose_active();
}

ModelSnapshot ModelRegistry::active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

ModelSnapshot ModelRegistry::find(const std::string& id) const {
  const ModelSnapshot served = active();
  if (served && served->record.id == id) return served;
  return load(id);
}

Page<ModelRecord> ModelRegistry::list(int limit, std::optional<std::int64_t> before) const {
  return store_.list_models(limit, before);
}

bool ModelRegistry::is_chosen(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return chosen_ == id;
}

ModelSnapshot ModelRegistry::load(const std::string& id) const {
  auto record = store_.find_model(id);
  if (!record) throw NotFound("no model " + id);
  model::LinearModel linear(read_weights(data_dir_.weights(id), *record));
  return std::make_shared<const ServedModel>(std::move(*record), std::move(linear));
}

void ModelRegistry::add(ModelRecord record, std::vector<float> weights, const FinishJob& finish_job) {
  const std::lock_guard change(changes_);
  const std::filesystem::path file = data_dir_.weights(record.id);
  const std::string bytes = model::to_safetensors(weights, metadata_of(record));
  record.weights_digest = digest_of(bytes);
  auto served = std::make_shared<const ServedModel>(record, model::LinearModel(std::move(weights)));
  const ModelSnapshot before = active();
  const auto serve = [this](ModelSnapshot snapshot) {
    const std::lock_guard lock(mutex_);
    if (!chosen_) active_ = std::move(snapshot);
  };
  try {
    // The file first: a record without its file would be a model that cannot be served, a file without a record is
    // only removed by the next start. And served before the job ends: whoever sees its end can use its model.
    write_file_atomically(file, bytes);
    serve(std::move(served));
    finish_job(record);
  } catch (...) {
    serve(before);
    remove_file(record.id);
    throw;
  }
}

void ModelRegistry::activate(const std::string& id) {
  const std::lock_guard change(changes_);
  ModelSnapshot snapshot = find(id);
  store_.choose_model(id);
  const std::lock_guard lock(mutex_);
  active_ = std::move(snapshot);
  chosen_ = id;
}

void ModelRegistry::erase(const std::string& id) {
  {
    const std::lock_guard change(changes_);
    store_.erase_model(id);
  }
  forget(id);
}

void ModelRegistry::forget(const std::string& id) {
  const std::lock_guard change(changes_);
  remove_file(id);
  {
    const std::lock_guard lock(mutex_);
    if (chosen_ == id) chosen_.reset();
    if (!active_ || active_->record.id != id) return;
  }
  choose_active();
}

void ModelRegistry::refresh(const std::string& id) {
  const std::lock_guard change(changes_);
  const ModelSnapshot served = active();
  auto record = store_.find_model(id);
  if (!record || !served || served->record.id != id) return;
  auto renamed = std::make_shared<const ServedModel>(std::move(*record), served->linear);
  const std::lock_guard lock(mutex_);
  active_ = std::move(renamed);
}

// The chosen one, else the newest that can be loaded: a lost file is a reason to log, not to refuse to start.
void ModelRegistry::choose_active() {
  std::vector<std::string> candidates = store_.model_ids();
  std::optional<std::string> chosen;
  {
    const std::lock_guard lock(mutex_);
    chosen = chosen_;
  }
  if (chosen) candidates.insert(candidates.begin(), *chosen);
  ModelSnapshot found;
  for (const std::string& id : candidates) {
    try {
      found = load(id);
      break;
    } catch (const std::exception& error) {
      spdlog::warn("model {} is not served: {}", id, error.what());
    }
  }
  const std::lock_guard lock(mutex_);
  active_ = std::move(found);
  if (chosen_ && (!active_ || active_->record.id != *chosen_)) chosen_.reset();
}

void ModelRegistry::remove_file(const std::string& id) const {
  std::error_code error;
  std::filesystem::remove(data_dir_.weights(id), error);
  if (error) spdlog::warn("cannot remove {}: {}", data_dir_.weights(id).string(), error.message());
}

// Files that a crash left between the writing of weights and of their record, or between an erased record and its file.
void ModelRegistry::remove_orphans() const {
  const std::vector<std::string> ids = store_.model_ids();
  const std::set<std::string> known(ids.begin(), ids.end());
  std::error_code error;
  std::vector<std::filesystem::path> orphans;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir_.path() / "models", error)) {
    const std::filesystem::path& file = entry.path();
    const bool partial = file.extension() == ".partial";
    const bool unknown = file.extension() == kExtension && !known.contains(file.stem().string());
    if (partial || unknown) orphans.push_back(file);
  }
  for (const std::filesystem::path& file : orphans) {
    if (std::filesystem::remove(file, error))
      spdlog::info("removed {}, which belongs to no model", file.string());
  }
}

}  // namespace mnistd::server

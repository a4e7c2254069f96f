// The models that can be served: records in the store, weights in files, snapshots in memory.
//
// The active model is the one chosen by hand, else the newest. A snapshot is immutable and outlives its deletion for
// those who hold it. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/linear.h"
#include "server/data_dir.h"
#include "server/job_store.h"

namespace mnistd::server {

struct ServedModel {
  ModelRecord record;
  model::LinearModel linear;
  // Predicted labels of a split, computed once when asked for the first time; any thread.
  const std::vector<std::uint8_t>& labels_of(const model::Dataset& dataset, model::SplitName split) const;

  ServedModel(ModelRecord record, model::LinearModel linear);
  ~ServedModel();

 private:
  struct LabelCache;
  std::unique_ptr<LabelCache> cache_;
};
using ModelSnapshot = std::shared_ptr<const ServedModel>;

class ModelRegistry {
 public:
  // Loads the active model and removes weights files without a record.
  ModelRegistry(const DataDir& data_dir, JobStore& store);

  ModelSnapshot active() const;  // null where there is none
  ModelSnapshot find(
      const std::string& id) const;  // throws NotFound; StoreError where its file is gone or damaged
  Page<ModelRecord> list(int limit, std::optional<std::int64_t> before) const;
  bool is_chosen(const std::string& id) const;  // activated by hand

  // The worker's: writes the weights file, serves the model, then calls `finish_job` with the record, which has the file's
  // digest now (and which it stores with the job in one transaction). Throws StoreError and leaves nothing behind.
  using FinishJob = std::function<void(const ModelRecord& record)>;
  void add(ModelRecord record, std::vector<float> weights, const FinishJob& finish_job);
  void activate(const std::string& id);  // by hand; throws NotFound
  void erase(const std::string& id);     // throws NotFound; the newest other becomes active
  void forget(const std::string& id);    // its record was purged with its job
  void refresh(const std::string& id);   // its record changed (a new name)

 private:
  ModelSnapshot load(const std::string& id) const;
  void choose_active();
  void remove_file(const std::string& id) const;
  void remove_orphans() const;

  const DataDir& data_dir_;
  JobStore& store_;
  std::mutex changes_;        // one change at a time; taken before mutex_
  mutable std::mutex mutex_;  // of the two below; never held while the disk is touched
  ModelSnapshot active_;
  std::optional<std::string> chosen_;
};

}  // namespace mnistd::server

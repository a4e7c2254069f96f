// The store's models: what succeeded jobs made, and which was chosen by hand.
#include <limits>
#include <sstream>

#include "server/job_columns.h"
#include "server/job_store.h"

namespace mnistd::server {

namespace {

const std::string kModelQuery =
    std::string("SELECT models.sequence, jobs.id, jobs.name, ") + kSpecColumns +
    ", models.loss, models.train_count, models.train_correct, models.confusion, models.created_at, "
    "jobs.dataset_digest, models.weights_digest "
    "FROM models JOIN jobs ON jobs.sequence = models.job ";

std::string to_text(const model::Evaluation& evaluation) {
  std::ostringstream text;
  const char* separator = "";
  for (const auto& row : evaluation.confusion) {
    for (const int count : row) text << std::exchange(separator, " ") << count;
  }
  return text.str();
}

struct NumberedModel {
  std::int64_t sequence = 0;
  ModelRecord record;
};

NumberedModel read_model(const SqliteDatabase& database, Statement& row) {
  NumberedModel model;
  ModelRecord& record = model.record;
  model.sequence = row.get<std::int64_t>();
  record.id = row.get<std::string>();
  record.name = row.get<std::optional<std::string>>();
  record.spec = read_spec(database, row);
  record.loss = row.get<double>();
  record.train_count = row.get<int>();
  record.train_correct = row.get<int>();
  std::istringstream text(row.get<std::string>());
  for (auto& counts : record.test.confusion) {
    for (int& count : counts) text >> count;
  }
  if (!text) database.fail("the confusion matrix of model " + record.id + " is damaged");
  record.created_at = Time(std::chrono::milliseconds(row.get<std::int64_t>()));
  record.dataset_digest = row.get<std::optional<std::string>>();
  record.weights_digest = row.get<std::optional<std::string>>();
  return model;
}

}  // namespace

void JobStore::insert_model(const ModelRecord& model) {
  Statement(*database_,
            "INSERT INTO models (job, loss, train_count, train_correct, confusion, created_at, "
            "weights_digest) VALUES ((SELECT sequence FROM jobs WHERE id = ?), ?, ?, ?, ?, ?, ?)")
      .bind(model.id, model.loss, model.train_count, model.train_correct, to_text(model.test),
            std::int64_t{model.created_at.time_since_epoch().count()}, model.weights_digest)
      .run();
}

std::optional<ModelRecord> JobStore::find_model(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, kModelQuery + "WHERE jobs.id = ?");
  row.bind(id);
  return row.step() ? std::optional(read_model(*database_, row).record) : std::nullopt;
}

Page<ModelRecord> JobStore::list_models(int limit, std::optional<std::int64_t> before) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, kModelQuery + "WHERE models.sequence < ? ORDER BY models.sequence DESC LIMIT ?");
  row.bind(before.value_or(std::numeric_limits<std::int64_t>::max()), std::int64_t{limit} + 1);
  Page<ModelRecord> page;
  std::int64_t last = 0;
  while (row.step()) {
    if (static_cast<int>(page.items.size()) == limit) {
      page.next = last;
      break;
    }
    NumberedModel model = read_model(*database_, row);
    last = model.sequence;
    page.items.push_back(std::move(model.record));
  }
  return page;
}

std::vector<std::string> JobStore::model_ids() {
  const std::lock_guard lock(mutex_);
  Statement row(
      *database_,
      "SELECT jobs.id FROM models JOIN jobs ON jobs.sequence = models.job ORDER BY models.sequence DESC");
  std::vector<std::string> ids;
  while (row.step()) ids.push_back(row.get<std::string>());
  return ids;
}

void JobStore::erase_model(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM settings WHERE key = 'chosen_model' AND value = ?").bind(id).run();
  Statement(*database_, "DELETE FROM models WHERE job = (SELECT sequence FROM jobs WHERE id = ?)")
      .bind(id)
      .run();
  if (database_->changes() == 0) throw NotFound("no model " + id);
  transaction.commit();
}

std::optional<std::string> JobStore::chosen_model() {
  const std::lock_guard lock(mutex_);
  Statement row(
      *database_,
      "SELECT value FROM settings JOIN jobs ON jobs.id = value JOIN models ON models.job = jobs.sequence "
      "WHERE key = 'chosen_model'");
  return row.step() ? std::optional(row.get<std::string>()) : std::nullopt;
}

void JobStore::choose_model(const std::optional<std::string>& id) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(*database_);
  if (id) {
    Statement(*database_, "INSERT OR REPLACE INTO settings (key, value) VALUES ('chosen_model', ?)")
        .bind(*id)
        .run();
  } else {
    Statement(*database_, "DELETE FROM settings WHERE key = 'chosen_model'").run();
  }
  transaction.commit();
}

}  // namespace mnistd::server

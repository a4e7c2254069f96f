// A job: a training as it was asked for, how far it is, and what came of it. Plain values.
//
//   queued → running → succeeded | failed | cancelled        (queued → cancelled; a restart: running → queued)
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/evaluation.h"
#include "model/trainer.h"

namespace mnistd::server {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC
Time now();

enum class JobState { queued, running, succeeded, failed, cancelled };
std::string_view to_string(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);
inline bool has_ended(JobState state) { return state > JobState::running; }

struct JobSpec {
  model::TrainSpec train;
  std::string dataset = "mnist";
  std::string model = "linear";
};

struct JobProgress {
  // The last reported one, and what was reported then. Of a job that diverged, the one at which the loss left the finite
  // numbers, and nothing else.
  int iteration = 0;
  std::optional<double> loss, train_accuracy, test_accuracy, ms_per_iteration, eta_s;
};

struct JobResult {  // of the weights handed over
  std::string model_id;
  double loss = 0, train_accuracy = 0, test_accuracy = 0;
  int train_correct = 0, test_correct = 0;
  double train_ms = 0, ms_per_iteration = 0;
};

struct JobFailure {
  // Short and stable: "diverged", "no-dataset", "dataset-changed", "out-of-device-memory", "device-lost", "device-error",
  // "internal".
  std::string code;
  std::string message;  // what happened and what to do
};

struct Job {
  std::int64_t sequence = 0;  // order of creation; given by the store
  std::string id;
  JobState state = JobState::queued;
  std::optional<std::string> name;
  JobSpec spec;
  JobProgress progress;
  std::optional<JobResult> result;
  std::vector<std::string> warnings;
  std::optional<JobFailure> error;
  Time created_at{};
  std::optional<Time> started_at, finished_at;
  std::string device;  // that runs or ran it, or would run it now
  // Of the data that it began with, see model::Dataset. Nothing before it began, and in jobs of older versions.
  std::optional<std::string> dataset_digest;
  std::optional<Time> cancel_requested_at;
};

// 20 lower-case characters (Crockford base 32): 48 bits of the time in ms, 52 random bits. Sorts by time.
std::string new_job_id(Time time);

// A model is made by a succeeded job and carries the job's id. Its weights lie in a file of the data dir.
struct ModelRecord {
  std::string id;  // of the job
  std::optional<std::string> name;
  JobSpec spec;
  double loss = 0;
  int train_count = 0, train_correct = 0;
  model::Evaluation test;  // on the test split
  Time created_at{};
  // Of the training data and of the bytes of the weights file; nothing in models of older versions.
  std::optional<std::string> dataset_digest = std::nullopt, weights_digest = std::nullopt;
};

// A job's stream of events is a function of the job and its metrics rows, in this order:
//   state queued (iteration 0) · state running (0) · progress k, k ascending · the final state · end
// so an event has the same position whenever it is told, also after a crash.
struct EventPosition {
  enum Rank { before_all = -1, queued = 0, running = 1, progress = 2, final_state = 3, end = 4 };
  int iteration = 0;
  Rank rank = before_all;
  auto operator<=>(const EventPosition&) const = default;
};

struct JobEvent {
  EventPosition position;
  JobState state = JobState::queued;  // of rank queued, running, final_state and end
  model::MetricsRow row;              // of rank progress
};

}  // namespace mnistd::server

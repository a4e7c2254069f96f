#include "api/prediction.h"

#include "api/problem.h"

namespace mnistd::api {

void refuse_no_model(const server::Daemon& daemon) {
  const server::Daemon::Status status = daemon.status();
  if (status.running_job)
    refuse(
        409, "no-model",
        "The first model is being trained by job " + *status.running_job + "; ask again when it has ended.");
  if (status.queued > 0)
    refuse(409, "no-model", "No model has been trained yet; a training waits in the queue. Ask again later.");
  refuse(409, "no-model",
         "No model has been trained yet. POST /v1/jobs trains one, for example: curl -d iterations=300 "
         "localhost:8906/v1/jobs");
}

server::ModelSnapshot pick_model(server::Daemon& daemon, const std::optional<std::string>& id) {
  if (id) return daemon.models().find(*id);
  if (auto active = daemon.models().active()) return active;
  refuse_no_model(daemon);
}

Json prediction_json(const model::Prediction& prediction, const std::string& model_id) {
  return {{"label", prediction.label},
          {"scores", to_json(prediction.scores)},
          {"margin", to_json(prediction.margin)},
          {"model_id", model_id}};
}

}  // namespace mnistd::api

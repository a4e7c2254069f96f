// What routes that predict share: the model to use, and a prediction as JSON.
#pragma once

#include <optional>
#include <string>

#include "api/json_codec.h"
#include "server/daemon.h"

namespace mnistd::api {

// The model of that id, or the active one. Throws Refusal 409 "no-model" (which says how to train one), NotFound.
server::ModelSnapshot pick_model(server::Daemon& daemon, const std::optional<std::string>& id);
[[noreturn]] void refuse_no_model(const server::Daemon& daemon);

// {"label", "scores", "margin", "model_id"}
Json prediction_json(const model::Prediction& prediction, const std::string& model_id);

}  // namespace mnistd::api

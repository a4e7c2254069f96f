// The route groups, one file each. What they put in the router runs on connection threads.
#pragma once

#include "api/router.h"

namespace mnistd::api {

void add_job_routes(Router& router);      // /v1/jobs, /v1/jobs/{id}
void add_metrics_routes(Router& router);  // /v1/jobs/{id}/metrics
void add_event_routes(Router& router);    // /v1/jobs/{id}/events
void add_model_routes(Router& router);    // /v1/models
void add_predict_routes(Router& router);  // /predict, /v1/predict, /v1/digits
void add_curve_routes(
    Router& router);  // /v1/datasets/{name}/curve; before the datasets', which take any split
void add_dataset_routes(Router& router);    // /v1/datasets
void add_system_routes(Router& router);     // /healthz, /readyz, /v1/system
void add_dashboard_routes(Router& router);  // / and the dashboard's files

}  // namespace mnistd::api

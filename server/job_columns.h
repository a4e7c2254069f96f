// How a JobSpec lies in the columns of the jobs table; shared by the store's parts that read jobs and models.
#pragma once

#include "server/job.h"
#include "server/sqlite.h"

namespace mnistd::server {

// In the order in which read_spec reads them.
inline constexpr const char* kSpecColumns =
    "jobs.dataset, jobs.model, jobs.solver, jobs.iterations, jobs.learning_rate, jobs.seed, "
    "jobs.report_every";

// From the next seven columns of the row. Throws StoreError on a solver that this program does not know.
JobSpec read_spec(const SqliteDatabase& database, Statement& row);

}  // namespace mnistd::server

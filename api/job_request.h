// The body of POST /v1/jobs, checked against the table of REFERENCE.md.
#pragma once

#include <optional>
#include <string>

#include "api/strict_json.h"
#include "server/daemon.h"

namespace mnistd::api {

// `object` is the body, `idempotency_key` the header (empty: none). Datasets that may be named are those of `datasets`.
// Throws Refusal 400 with an error for every field that is wrong or unknown.
server::Daemon::Submission parse_submission(const Json& object, const std::string& idempotency_key,
                                            const server::Datasets& datasets);

// The body of PATCH /v1/jobs/{id}: {"name": …}, where null takes the name away.
std::optional<std::string> parse_name(const Json& object);

}  // namespace mnistd::api

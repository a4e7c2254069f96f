#include "server/job.h"

#include <set>

#include <doctest/doctest.h>

using namespace mnistd::server;

TEST_CASE("a job's states have names that are read back") {
  for (const JobState state :
       {JobState::queued, JobState::running, JobState::succeeded, JobState::failed, JobState::cancelled}) {
    CHECK(parse_job_state(to_string(state)) == state);
  }
  CHECK(to_string(JobState::cancelled) == "cancelled");
  CHECK_FALSE(parse_job_state("Queued"));
  CHECK_FALSE(parse_job_state(""));
  CHECK_FALSE(has_ended(JobState::running));
  CHECK(has_ended(JobState::failed));
}

TEST_CASE("ids are 20 characters of base 32, differ, and sort by time") {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = new_job_id(now());
    CHECK(id.size() == 20);
    CHECK(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz") == std::string::npos);
    ids.insert(id);
  }
  CHECK(ids.size() == 1000);
  std::string previous;
  for (const std::int64_t ms : {0LL, 1LL, 7LL, 8LL, 31LL, 32LL, 1'700'000'000'000LL, 1'700'000'000'001LL}) {
    const std::string id = new_job_id(Time(std::chrono::milliseconds(ms)));
    CHECK(id > previous);
    previous = id;
  }
}

TEST_CASE("an id begins with the 48 bits of its time") {
  // 2^47 + 5: the first bit set, 44 zeros, then 101; the tenth character holds the last three bits above two random ones.
  const std::string id = new_job_id(Time(std::chrono::milliseconds((std::int64_t{1} << 47) + 5)));
  CHECK(id.substr(0, 9) == "g00000000");
  const auto tenth = std::string_view("0123456789abcdefghjkmnpqrstvwxyz").find(id[9]);
  CHECK(tenth / 4 == 5);
}

TEST_CASE("positions order a stream of events") {
  using P = EventPosition;
  const std::vector<P> order = {{0, P::before_all}, {0, P::queued},   {0, P::running},     {1, P::progress},
                                {2, P::progress},   {9, P::progress}, {9, P::final_state}, {9, P::end}};
  for (std::size_t i = 1; i < order.size(); ++i) CHECK(order[i - 1] < order[i]);
  CHECK(P{0, P::running} < P{0, P::final_state});  // of a job cancelled before its first report
}

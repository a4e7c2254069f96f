#include "api/sse.h"

#include <charconv>
#include <thread>

#include <spdlog/spdlog.h>

#include "api/json_codec.h"

namespace mnistd::api {
namespace {

using server::EventPosition;
using server::JobEvent;

constexpr int kBatch = 256;
constexpr std::chrono::milliseconds kHeartbeat{5'000}, kLook{500}, kPace{20};

std::string_view kind_of(const JobEvent& event) {
  if (event.position.rank == EventPosition::progress) return "progress";
  return event.position.rank == EventPosition::end ? "end" : "state";
}

Json data_of(const JobEvent& event, const server::Job& job) {
  if (event.position.rank == EventPosition::progress) return metrics_object(event.row);
  Json data = {{"state", server::to_string(event.state)}};
  if (event.position.rank == EventPosition::end) {
    data["result"] = job.result ? to_json(*job.result) : Json(nullptr);
    data["error"] = job.error ? to_json(*job.error) : Json(nullptr);
  }
  return data;
}

}  // namespace

std::string event_id(const JobEvent& event) {
  const std::string iteration = std::to_string(event.position.iteration);
  switch (event.position.rank) {
    case EventPosition::progress:
      return iteration;
    case EventPosition::end:
      return iteration + "-end";
    default:
      return iteration + "-" + std::string(server::to_string(event.state));
  }
}

std::optional<EventPosition> parse_event_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view digits = text.substr(0, dash);
  EventPosition position;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), position.iteration);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || digits[0] == '-' ||
      (digits.size() > 1 && digits[0] == '0') || position.iteration > model::kMaximumIterations)
    return std::nullopt;
  if (dash == std::string_view::npos) {
    position.rank = EventPosition::progress;
    return position.iteration > 0 ? std::optional(position) : std::nullopt;
  }
  const std::string_view word = text.substr(dash + 1);
  if (word == "end") {
    position.rank = EventPosition::end;
    return position;
  }
  const auto state = server::parse_job_state(word);
  if (!state) return std::nullopt;
  if (server::has_ended(*state)) {
    position.rank = EventPosition::final_state;
    return position;
  }
  position.rank = *state == server::JobState::queued ? EventPosition::queued : EventPosition::running;
  return position.iteration == 0 ? std::optional(position) : std::nullopt;
}

std::string format_event(const JobEvent& event, const server::Job& job, EventFormat format) {
  const Json data = data_of(event, job);
  if (format == EventFormat::sse)
    return "id: " + event_id(event) + "\nevent: " + std::string(kind_of(event)) + "\ndata: " + dump(data) +
           "\n";
  Json line = {{"id", event_id(event)}, {"event", kind_of(event)}};
  line.update(data);
  return dump(line);
}

EventStream::EventStream(Context& context, StreamSlots::Slot slot, std::string job_id, EventPosition after,
                         EventFormat format)
    : context_(&context),
      slot_(std::move(slot)),
      job_id_(std::move(job_id)),
      position_(after),
      format_(format) {}

Step EventStream::operator()(httplib::DataSink& sink) {
  try {
    if (!begun_) {
      begun_ = true;
      last_write_ = Clock::now();
      if (format_ == EventFormat::sse && write(sink, "retry: 2000\n\n") == Step::broken) return Step::broken;
    }
    pace();
    const std::uint64_t seen = context_->daemon.log().version();
    const auto events = context_->daemon.events(job_id_, position_, kBatch);
    if (!events.empty()) return tell(sink, events);
    if (context_->stopping || context_->daemon.log().is_closed()) return Step::end;
    return wait(sink, seen);
  } catch (const server::NotFound&) {
    return Step::end;  // purged while we told of it
  } catch (const std::exception& error) {
    spdlog::warn("an event stream of job {} ends early: {}", job_id_, error.what());
    return Step::end;  // the client comes back with the last id that it has
  }
}

void EventStream::pace() {
  const Clock::time_point next = last_read_ + kPace;
  if (Clock::now() < next) std::this_thread::sleep_until(next);
  last_read_ = Clock::now();
}

Step EventStream::write(httplib::DataSink& sink, const std::string& text) {
  last_write_ = Clock::now();
  return sink.write(text.data(), text.size()) ? Step::more : Step::broken;
}

Step EventStream::tell(httplib::DataSink& sink, const std::vector<JobEvent>& events) {
  server::Job job;
  const bool last = events.back().position.rank == EventPosition::end;
  if (last) job = context_->daemon.job(job_id_);
  std::string text;
  for (const JobEvent& event : events) text += format_event(event, job, format_);
  position_ = events.back().position;
  const Step step = write(sink, text);
  return step == Step::more && last ? Step::end : step;
}

Step EventStream::wait(httplib::DataSink& sink, std::uint64_t seen) {
  if (Clock::now() - last_write_ >= kHeartbeat)
    return write(sink, format_ == EventFormat::sse ? ": still here\n\n" : "\n");
  if (!sink.is_writable()) return Step::broken;
  context_->daemon.log().wait(seen, Clock::now() + kLook);
  return Step::more;
}

}  // namespace mnistd::api

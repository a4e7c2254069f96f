// A job's events as a stream: Server-Sent Events, or one JSON object a line (ndjson) for a shell.
//
// A stream is a reader with a position (server::EventPosition), and nothing else remembers it: not the daemon, which is asked
// for "what comes after this position", and not the worker, which never learns of readers. So a stream that broke off goes
// on where the client says (Last-Event-ID), on this daemon or on one started later, with nothing lost and nothing twice.
//
// Between events a stream sleeps on the event log's bell, and no longer than half a second, to see whether its client is
// still there or the server stops. It reads and writes at most fifty times a second: a training that reports a thousand
// iterations a second gives batches of twenty, and a hundred streams do not keep the log's lock busy.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <httplib.h>

#include "api/context.h"
#include "api/reply.h"

namespace mnistd::api {

// "0-queued", "0-running", "17" (progress), "300-succeeded", "300-end".
std::string event_id(const server::JobEvent& event);
// Nothing for what event_id never gives. Any final state's name gives the position of the final state.
std::optional<server::EventPosition> parse_event_id(std::string_view text);

enum class EventFormat { sse, ndjson };
// `job` is looked at for `end` only: the ended job.
std::string format_event(const server::JobEvent& event, const server::Job& job, EventFormat format);

// The source of one stream (see reply_stream): writes what has happened since the last call, or waits a little.
class EventStream {
 public:
  EventStream(Context& context, StreamSlots::Slot slot, std::string job_id, server::EventPosition after,
              EventFormat format);
  Step operator()(httplib::DataSink& sink);

 private:
  using Clock = std::chrono::steady_clock;
  Step write(httplib::DataSink& sink, const std::string& text);
  Step tell(httplib::DataSink& sink, const std::vector<server::JobEvent>& events);
  Step wait(httplib::DataSink& sink, std::uint64_t seen);
  void pace();

  Context* context_;
  StreamSlots::Slot slot_;
  std::string job_id_;
  server::EventPosition position_;
  EventFormat format_;
  bool begun_ = false;
  Clock::time_point last_read_{}, last_write_{};
};

}  // namespace mnistd::api

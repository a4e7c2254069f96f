// mnistd serve: the daemon from first line of log to last.
//
// Signals: SIGTERM, SIGINT and SIGHUP are blocked in every thread and taken by one that waits for them, so that no code
// of ours runs in a signal handler. The first one drains; one that comes later, from somebody who will not wait, ends at
// once (a service manager may send two together: those are one).
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "api/http_server.h"
#include "server/commands/commands.h"
#include "server/commands/logging.h"

namespace mnistd::commands {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTogether{500};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

std::string read_api_key(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string key;
  if (!in || !std::getline(in, key))
    throw server::StartError("--api-key-file " + file.string() +
                             " can't be read or is empty; write the key on its first line");
  while (!key.empty() && std::isspace(static_cast<unsigned char>(key.back()))) key.pop_back();
  if (key.size() < 16)
    throw server::StartError("the key in " + file.string() + " has " + std::to_string(key.size()) +
                             " characters; use 16 or more, for example from: openssl rand -hex 32");
  return key;
}

// Waits for signals until the process ends or `finished` is sent to it.
class SignalThread {
 public:
  SignalThread(api::HttpServer& http, server::Daemon& daemon)
      : thread_([this, &http, &daemon](std::stop_token stop) {
          const sigset_t set = stop_signals();
          std::optional<Clock::time_point> first;
          while (!stop.stop_requested()) {
            int signal = 0;
            if (sigwait(&set, &signal) != 0 || stop.stop_requested()) continue;
            if (first && Clock::now() - *first < kTogether) continue;
            if (first) {
              spdlog::warn("{} while draining: ending at once", strsignal(signal));
              _exit(1);
            }
            first = Clock::now();
            spdlog::info("{}: draining", strsignal(signal));
            daemon.drain();
            http.stop();
          }
        }) {}
  ~SignalThread() {
    thread_.request_stop();
    pthread_kill(thread_.native_handle(), SIGTERM);  // out of sigwait
  }

 private:
  std::jthread thread_;
};

}  // namespace

int run_serve(const ServeOptions& options) {
  set_up_logging(options.log_level, options.log_format);
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a client that hung up is an error of the write, not the end of the daemon
  try {
    api::HttpOptions http_options;
    http_options.host = options.host;
    http_options.port = options.port;
    http_options.version = MNISTD_VERSION;
    http_options.allowed_origins = options.allowed_origins;
    if (options.api_key_file) http_options.api_key = read_api_key(*options.api_key_file);

    server::Daemon daemon(options.daemon);
    api::HttpServer http(daemon, http_options);
    const int port = http.bind();
    if (options.port_file) server::write_file_atomically(*options.port_file, std::to_string(port) + "\n");
    {
      SignalThread signals(http, daemon);
      spdlog::info("listening on http://{}:{}, data in {}", options.host, port,
                   options.daemon.data_dir.string());
      http.run();
    }
    daemon.drain();
    spdlog::info("drained, good bye");
    return 0;
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
    return 1;
  }
}

}  // namespace mnistd::commands

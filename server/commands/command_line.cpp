#include "server/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string_view>

#include "server/commands/logging.h"

namespace mnistd::commands {
namespace {

constexpr int kUsage = 2;

const char* const kOverview =
    R"(mnistd trains MNIST classifiers in a long-running daemon and serves them over HTTP.

Usage: mnistd COMMAND [arguments]

  serve                                         the daemon: HTTP API and dashboard
  train DATASET_DIR [iterations] [learning_rate]  one run without the daemon
  show  DATASET_DIR [split] [index]             one digit in ASCII
  selftest                                      device, arch, every operation against the reference, on one page
  bench                                         every operation and variant: checked, then timed against the limits

mnistd COMMAND --help tells more; mnistd --version prints the version.
)";

const std::map<std::string, gpu::Backend> kBackends = {
    {"auto", gpu::Backend::automatic}, {"cpu", gpu::Backend::cpu}, {"hip", gpu::Backend::hip}};

// Gives the number that CLI11 reads the enumeration from.
std::string read_backend(const std::string& text) {
  const auto found = kBackends.find(text);
  if (found == kBackends.end())
    throw CLI::ValidationError("--backend", "must be auto, cpu or hip; got " + text);
  return std::to_string(static_cast<int>(found->second));
}

std::string check_host(const std::string& text) {
  return text.empty() ? "host must be an address to listen on, for example 127.0.0.1 or 0.0.0.0" : "";
}

void add_device_options(CLI::App& app, gpu::DeviceOptions& device) {
  app.add_option("--backend", device.backend,
                 "Device to compute on: auto (a GPU where there is one), cpu, hip")
      ->transform(read_backend)
      ->option_text("auto|cpu|hip");
  app.add_option("--device", device.index, "Which of the backend's devices (default: the first usable)")
      ->check(CLI::Range(0, 1023));
  app.add_option("--threads", device.threads, "Threads of the CPU device (default: one a processor)")
      ->check(CLI::Range(1, 4096));
}

// Nothing for "auto".
std::optional<double> parse_learning_rate(const std::string& text) {
  double rate = 0;
  if (text == "auto") return std::nullopt;
  if (!CLI::detail::lexical_cast(text, rate) || !std::isfinite(rate) || rate < 0)
    throw CLI::ValidationError("learning_rate", "must be a finite number, 0 or more, or auto; got " + text);
  return rate;
}

std::string check_learning_rate(const std::string& text) {
  try {
    parse_learning_rate(text);
    return {};
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
}

// Precedence is file, then environment, then flags. CLI11 lets a file win over the environment, so the environment is
// turned into flags here, where none was given.
std::vector<std::string> with_environment(const CLI::App& app, std::vector<std::string> arguments) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || option == app.get_help_ptr()) continue;
    const std::string flag = "--" + option->get_lnames().front();
    const bool given = std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
      return argument == flag || argument.starts_with(flag + "=");
    });
    std::string variable = "MNISTD_" + option->get_lnames().front();
    std::transform(variable.begin(), variable.end(), variable.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    const char* value = std::getenv(variable.c_str());
    if (given || value == nullptr || *value == '\0') continue;
    if (option->get_expected_max() > 1) {  // a list, separated by commas
      for (const std::string& item : CLI::detail::split(value, ',')) arguments.push_back(flag + "=" + item);
    } else {
      arguments.push_back(flag + "=" + value);
    }
  }
  return arguments;
}

// Gives an exit code where the program should end now: help was asked for, or the usage was wrong.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "mnistd: " << error.what() << "\nRun with --help for usage.\n";
    return kUsage;
  }
}

std::map<std::string, std::filesystem::path> parse_datasets(const std::vector<std::string>& texts) {
  std::map<std::string, std::filesystem::path> datasets;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool plain =
        !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '-' || c == '_' || c == '.';
        });
    if (equals == std::string::npos || !plain || equals + 1 == text.size())
      throw CLI::ValidationError(
          "--dataset", "takes NAME=DIR with letters, digits, - _ . in NAME, not a dot in front; got " + text);
    if (!datasets.emplace(name, text.substr(equals + 1)).second)
      throw CLI::ValidationError("--dataset", "names " + name + " twice");
  }
  return datasets;
}

int serve(const std::vector<std::string>& arguments) {
  ServeOptions options;
  std::vector<std::string> datasets;
  bool no_first_training = false;
  CLI::App app(
      "The daemon: trains jobs one after the other, serves the HTTP API and the dashboard.\n"
      "Settings come from --config, then from MNISTD_* variables (MNISTD_PORT for --port), then from flags.",
      "mnistd serve");
  app.add_option("--host", options.host, "Address to listen on")->check(check_host)->capture_default_str();
  app.add_option("--port", options.port, "Port to listen on; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--port-file", options.port_file, "File that gets the port once the daemon listens");
  app.add_option("--data-dir", options.daemon.data_dir, "Jobs, metrics and models live here")
      ->capture_default_str();
  app.add_option("--dataset", datasets, "NAME=DIR of four IDX files; may repeat (default: mnist=data/mnist)");
  add_device_options(app, options.daemon.device);
  app.add_option("--queue-limit", options.daemon.queue_limit, "Jobs that may wait")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_flag("--no-first-training", no_first_training, "Do not train a first model where there is none");
  app.add_option("--api-key-file", options.api_key_file,
                 "File with the key that callers must send as a bearer token");
  app.add_option("--allowed-origin", options.allowed_origins,
                 "Another web origin that may call the API; may repeat");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warning, error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.set_config("--config", "", "TOML file with these settings, for example: port = 8906")
      ->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);

  if (const auto code = parse(app, with_environment(app, arguments))) return *code;
  try {
    if (!datasets.empty()) options.daemon.datasets = parse_datasets(datasets);
  } catch (const CLI::ValidationError& error) {
    std::cerr << "mnistd: " << error.what() << '\n';
    return kUsage;
  }
  options.daemon.first_training = !no_first_training;
  return run_serve(options);
}

int train(const std::vector<std::string>& arguments) {
  TrainOptions options;
  CLI::App app(
      "One training without the daemon: progress bar, summary, loss.csv, then digits to leaf through.",
      "mnistd train");
  app.add_option("dataset", options.dataset, "Directory of the four IDX files")->required();
  app.add_option("iterations", options.iterations, "Number of gradient steps")
      ->check(CLI::Range(1, model::kMaximumIterations))
      ->capture_default_str();
  std::string learning_rate = "0.01", solver = "gemm";
  app.add_option("learning_rate", learning_rate,
                 "Step width; auto takes half of what the dataset's eigenvalues allow")
      ->check(check_learning_rate)
      ->capture_default_str();
  app.add_option(
         "--solver", solver,
         "gemm passes over all images in every iteration, gram once before the first: the same weights")
      ->check(CLI::IsMember({"gemm", "gram"}))
      ->capture_default_str();
  add_device_options(app, options.device);
  if (const auto code = parse(app, arguments)) return *code;
  options.learning_rate = parse_learning_rate(learning_rate);
  options.solver = *model::parse_solver(solver);
  return run_train(options);
}

int show(const std::vector<std::string>& arguments) {
  ShowOptions options;
  CLI::App app("One digit in ASCII.", "mnistd show");
  app.add_option("dataset", options.dataset, "Directory of the four IDX files")->required();
  app.add_option("split", options.split, "train or test")
      ->check(CLI::IsMember({"train", "test"}))
      ->capture_default_str();
  app.add_option("index", options.index, "0-based")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  if (const auto code = parse(app, arguments)) return *code;
  return run_show(options);
}

int selftest(const std::vector<std::string>& arguments) {
  SelftestOptions options;
  CLI::App app(
      "One page on whether a device computes what it should, made to be pasted into an issue: what it is,\n"
      "every operation against the CPU's reference, ten training iterations against float64.\n"
      "Exit code 1 if anything is off.",
      "mnistd selftest");
  add_device_options(app, options.device);
  app.add_flag("--quick", options.quick, "Small sizes only, and no times");
  if (const auto code = parse(app, arguments)) return *code;
  return run_selftest(options);
}

int bench(const std::vector<std::string>& arguments) {
  BenchCommandOptions options;
  bool chosen_only = false;
  CLI::App app(
      "Checks every operation of a device, and every variant that it can be made to use, against float64 "
      "and\n"
      "64-bit integers, then times what is right: with device events, warm and with empty caches, beside the "
      "limits\n"
      "that loops of nothing but copies and multiply-adds reach on that device. Wrong results are not "
      "timed.\n"
      "Exit code 1 if anything is wrong.",
      "mnistd bench");
  add_device_options(app, options.bench.device);
  app.add_option("--images", options.bench.images,
                 "How many images; the dataset is repeated to fill them (default: those of the dataset)")
      ->check(CLI::Range(1, 6'000'000));
  CLI::Option* dataset =
      app.add_option("--dataset", options.dataset,
                     "Directory of four IDX files (default: data/mnist, or random bytes where that is not)");
  app.add_flag("--random", options.random, "Random bytes, though there is a dataset")->excludes(dataset);
  app.add_option("--kernel", options.bench.device.kernel,
                 "Only with these variants, for example residual=1-plain,gradient=2-tiled");
  app.add_option("--operations", options.bench.operations, "Only these, with commas between")->delimiter(',');
  app.add_option("--iterations", options.bench.iterations,
                 "Of the two trainings at the end, whose losses are checked; 0: none (default: 300)")
      ->check(CLI::Range(0, gpu::bench::Workbench::kMostIterations));
  app.add_flag("--chosen", chosen_only,
               "Only the variants that the device chooses, and no second set of images");
  app.add_flag("--quick", options.bench.quick, "Few samples and a short training: does it run at all");
  CLI::Option* json = app.add_flag("--json", options.json, "The report as JSON in place of the tables");
  app.add_option("--json-file", options.json_file, "The report as JSON into a file, beside the tables")
      ->excludes(json);
  if (const auto code = parse(app, arguments)) return *code;
  options.bench.variants = !chosen_only;
  return run_bench(options);
}

struct Command {
  std::string_view name;
  int (*run)(const std::vector<std::string>& arguments);
};
constexpr std::array kCommands = {Command{"serve", serve}, Command{"train", train}, Command{"show", show},
                                  Command{"selftest", selftest}, Command{"bench", bench}};

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << kOverview;
    return 0;
  }
  if (name == "--version") {
    std::cout << "mnistd " MNISTD_VERSION "\n";
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  std::cerr << (name.empty() ? "mnistd: which command?\n\n" : "mnistd: no command \"" + name + "\"\n\n")
            << kOverview;
  return kUsage;
}

}  // namespace mnistd::commands

// What is worked out of each dataset once: its Gram, by the device, and its spectrum, by a thread of its own. Both are kept
// in the data dir, under the dataset's digest, and read from there by the next start.
//
//   HTTP threads   known, ask, wait_for
//   worker         wanted, gram, give, give_up
//   own thread     eigenvalues, and writing the files: neither holds anybody up
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "model/dataset.h"
#include "model/spectrum.h"
#include "server/data_dir.h"
#include "server/errors.h"
#include "server/job.h"

namespace mnistd::server {

using Datasets = std::map<std::string, std::shared_ptr<const model::Dataset>>;

class Spectra {
 public:
  // Reads what is kept, milliseconds a dataset. A file that is not whole or of something else is told in the log, and made
  // again. `eager`: whether all that is missing is wanted at once, or only what somebody asks for.
  Spectra(const DataDir& data_dir, const Datasets& datasets, bool eager);
  ~Spectra();  // waits for the eigenvalues that are being computed, half a second at most where the machine is not busy

  // Null until it is known, and for a dataset that there is not.
  std::shared_ptr<const model::Spectrum> known(const std::string& dataset) const;
  // The same, and makes it wanted.
  std::shared_ptr<const model::Spectrum> ask(const std::string& dataset);
  // Makes it wanted and waits some seconds; throws Unavailable with the reason where that was not enough.
  std::shared_ptr<const model::Spectrum> wait_for(const std::string& dataset);

  // A dataset whose Gram is to be computed.
  std::optional<std::string> wanted();
  std::shared_ptr<const model::Gram> gram(const std::string& dataset);  // null until known
  void give(const std::string& dataset, std::shared_ptr<const model::Gram> gram);
  // It can't be computed; the next that asks makes it wanted again.
  void give_up(const std::string& dataset, const std::string& why);

 private:
  struct Entry {
    std::string digest;
    bool asked = false;
    bool gram_is_kept = false;
    std::shared_ptr<const model::Gram> gram;
    std::shared_ptr<const model::Spectrum> spectrum;
    std::string trouble;
  };
  void load(const std::string& name, Entry& entry);
  void run(const std::stop_token& stop);
  Entry* next();  // that the thread has something to do for
  void keep(const std::string& name, const std::filesystem::path& file, const std::string& bytes) const;

  const DataDir& data_dir_;
  mutable std::mutex mutex_;  // of the entries; their addresses and digests stay
  std::condition_variable_any changed_;
  std::map<std::string, Entry> entries_;
  std::jthread thread_;
};

// What a job that is above the stability limit is told; nothing where it is not.
std::optional<std::string> stability_warning(const JobSpec& spec, const model::Spectrum& spectrum);
// For people: six digits.
std::string format_limit(double limit);

}  // namespace mnistd::server

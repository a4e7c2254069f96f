#include "server/job.h"

#include <array>
#include <random>
#include <utility>

namespace mnistd::server {

namespace {

constexpr std::array<std::pair<JobState, std::string_view>, 5> kStates = {
    {{JobState::queued, "queued"},
     {JobState::running, "running"},
     {JobState::succeeded, "succeeded"},
     {JobState::failed, "failed"},
     {JobState::cancelled, "cancelled"}}};

constexpr int kTimeBits = 48;
constexpr int kRandomBits = 52;
constexpr int kBitsOfCharacter = 5;
constexpr std::string_view kCrockford = "0123456789abcdefghjkmnpqrstvwxyz";

// `count` characters of the lowest bits of `value`, the highest first.
void append_base32(std::string& text, std::uint64_t value, int count) {
  for (int shift = (count - 1) * kBitsOfCharacter; shift >= 0; shift -= kBitsOfCharacter) {
    text.push_back(kCrockford[(value >> shift) & 31]);
  }
}

}  // namespace

Time now() { return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()); }

std::string_view to_string(JobState state) {
  for (const auto& [value, text] : kStates) {
    if (value == state) return text;
  }
  return "unknown";
}

std::optional<JobState> parse_job_state(std::string_view text) {
  for (const auto& [value, name] : kStates) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::string new_job_id(Time time) {
  // 100 bits are 20 characters: the first 9 hold 45 bits of the time, the tenth its last 3 and 2 random ones.
  const auto milliseconds = static_cast<std::uint64_t>(time.time_since_epoch().count());
  const std::uint64_t when = milliseconds & ((std::uint64_t{1} << kTimeBits) - 1);
  std::random_device entropy;
  const std::uint64_t chance =
      (std::uint64_t{entropy()} << 32 | entropy()) & ((std::uint64_t{1} << kRandomBits) - 1);
  std::string id;
  append_base32(id, when >> 3, 9);
  append_base32(id, (when & 7) << 2 | chance >> 50, 1);
  append_base32(id, chance & ((std::uint64_t{1} << 50) - 1), 10);
  return id;
}

}  // namespace mnistd::server

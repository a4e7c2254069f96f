#include "gpu/platform/emulator/exchange.h"

#include <array>
#include <string>

#include "gpu/platform/emulator/processor.h"

namespace mnistd::gpu::emulator {
namespace {

std::string outside_of_segment(int lane, int width) {
  return "__shfl reads lane " + std::to_string(lane) + " of a segment of " + std::to_string(width) +
         " lanes: which lane that is differs from one GPU's library to the other";
}

// The lane of the wavefront that lane `self` reads.
int source_lane(Exchange::Kind kind, int self, int operand, int width, Processor& processor) {
  const int segment = self & ~(width - 1);
  const auto last = static_cast<unsigned>(segment + width - 1);
  const auto distance = static_cast<unsigned>(operand);
  switch (kind) {
    case Exchange::Kind::shuffle:
      if (operand >= 0 && operand < width) return segment + operand;
      if (width < kWavefront) processor.fail(outside_of_segment(operand, width));
      return operand & (kWavefront - 1);
    case Exchange::Kind::shuffle_up:
      return distance > static_cast<unsigned>(self - segment) ? self : self - operand;
    case Exchange::Kind::shuffle_down:
      return distance > last - static_cast<unsigned>(self) ? self : self + operand;
    case Exchange::Kind::shuffle_xor:
      return (static_cast<unsigned>(self) ^ distance) > last ? self : self ^ operand;
    case Exchange::Kind::ballot:
      break;
  }
  return self;
}

const char* name_of(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::shuffle:
      return "__shfl";
    case Exchange::Kind::shuffle_up:
      return "__shfl_up";
    case Exchange::Kind::shuffle_down:
      return "__shfl_down";
    case Exchange::Kind::shuffle_xor:
      return "__shfl_xor";
    case Exchange::Kind::ballot:
      return "__ballot";
  }
  return "";
}

}  // namespace

std::uint64_t shuffle(Exchange::Kind kind, std::uint64_t value, int operand, int width, const Place& place) {
  Processor& processor = Processor::of_this_thread();
  if (processor.unwinding()) return value;
  if (width < 1 || width > kWavefront || (width & (width - 1)) != 0)
    processor.fail(std::string(name_of(kind)) + " at " + to_string(place) + " with a width of " +
                   std::to_string(width) + ": it must be a power of two up to " + std::to_string(kWavefront));
  const int source = source_lane(kind, processor.lane(), operand, width, processor);
  return processor.exchange({kind, value, source}, place);
}

std::uint64_t ballot(bool predicate, const Place& place) {
  Processor& processor = Processor::of_this_thread();
  return processor.exchange({Exchange::Kind::ballot, predicate ? 1u : 0u, 0}, place);
}

std::uint64_t Processor::exchange(const Exchange& mine, const Place& place) {
  Thread& thread = *current_;
  thread.exchange = mine;
  thread.received = mine.value;
  wait(State::at_exchange, place);
  return thread.received;
}

// All lanes wait or have ended, some of them for an exchange.
void Processor::exchange_lanes(int number) {
  const int first = number * kWavefront;
  const int lanes = std::min(kWavefront, count_ - first);
  const auto lane = [&](int index) -> Thread& { return threads_[static_cast<std::size_t>(first + index)]; };

  const Thread* leader = nullptr;
  for (int index = 0; index < lanes; ++index) {
    const Thread& thread = lane(index);
    if (thread.state == State::at_exchange && (leader == nullptr || thread.place < leader->place))
      leader = &thread;
  }
  const Place place = leader->place;
  const Exchange::Kind kind = leader->exchange.kind;
  std::array<bool, kWavefront> active{};
  std::uint64_t votes = 0;
  for (int index = 0; index < lanes; ++index) {
    const Thread& thread = lane(index);
    active[static_cast<std::size_t>(index)] =
        thread.state == State::at_exchange && thread.exchange.kind == kind && thread.place == place;
    if (active[static_cast<std::size_t>(index)] && thread.exchange.value != 0)
      votes |= std::uint64_t{1} << index;
  }

  for (int index = 0; index < lanes; ++index) {
    if (!active[static_cast<std::size_t>(index)]) continue;
    Thread& thread = lane(index);
    const int source = thread.exchange.source;
    if (kind != Exchange::Kind::ballot && !active[static_cast<std::size_t>(source)]) {
      current_ = &thread;
      fail(std::string(name_of(kind)) + " at " + to_string(place) + " reads lane " + std::to_string(source) +
           " of the wavefront, which is not active: " + lane_state(first + source));
    }
    thread.received = kind == Exchange::Kind::ballot ? votes : lane(source).exchange.value;
  }
  Wavefront& wavefront = wavefronts_[static_cast<std::size_t>(number)];
  for (int index = 0; index < lanes; ++index) {
    if (!active[static_cast<std::size_t>(index)]) continue;
    lane(index).state = State::ready;
    ready_.push_back(first + index);
    ++wavefront.running;
    --wavefront.at_exchange;
  }
}

std::string Processor::lane_state(int number) const {
  if (number >= count_) return "the block has only " + std::to_string(count_) + " threads";
  const Thread& thread = threads_[static_cast<std::size_t>(number)];
  switch (thread.state) {
    case State::ended:
      return "its thread has ended";
    case State::at_barrier:
      return "its thread waits at the barrier at " + to_string(thread.place);
    case State::at_exchange:
      return "its thread waits at " + std::string(name_of(thread.exchange.kind)) + " at " +
             to_string(thread.place);
    case State::ready:
      break;
  }
  return "its thread is elsewhere";
}

}  // namespace mnistd::gpu::emulator

#include "server/commands/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace mnistd::commands {
namespace {

constexpr std::chrono::milliseconds kPause{50};

int terminal_width() {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

std::string progress_line(const model::MetricsRow& row, int iterations, int width) {
  // Every number keeps its width, so that the bar's end stays where it is.
  const int digits = static_cast<int>(std::to_string(iterations).size());
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, " %*d/%d  loss %-9.6g %7.4g ms/iteration", digits, row.iteration,
                iterations, row.loss, row.elapsed_ms / row.iteration);
  std::string line(numbers);
  constexpr int kShortestBar = 5;
  constexpr int kLongestBar = 40;
  // One column stays free: a character in the last one makes some terminals begin a new line.
  const int room = width - 1 - static_cast<int>(line.size()) - 2;
  if (room >= kShortestBar) {
    const int bar = std::min(room, kLongestBar);
    const int full = static_cast<int>(static_cast<long long>(bar) * row.iteration / iterations);
    std::string drawn = "[";
    drawn.append(full, '#').append(bar - full, '-').append("]");
    line = drawn + line;
  }
  line.resize(std::min<std::size_t>(line.size(), std::max(0, width - 1)));
  return line;
}

ProgressBar::ProgressBar(int iterations) : iterations_(iterations), terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(const model::MetricsRow& row) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && row.iteration != iterations_ && now - last_ < kPause) return;
  last_ = now;
  drawn_ = true;
  constexpr const char* kEraseRest = "\x1b[K";
  std::cerr << '\r' << progress_line(row, iterations_, terminal_width()) << kEraseRest << std::flush;
}

void ProgressBar::end() {
  if (drawn_) std::cerr << '\n';
  drawn_ = false;
}

}  // namespace mnistd::commands

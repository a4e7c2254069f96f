// mnistd show: one digit in ASCII.
#include <iostream>

#include "model/ascii_art.h"
#include "model/dataset.h"
#include "server/commands/commands.h"

namespace mnistd::commands {

int run_show(const ShowOptions& options) {
  constexpr int kUsage = 2;
  const auto split_name = model::parse_split(options.split);
  if (!split_name) {
    std::cerr << "mnistd: no split \"" << options.split << "\"; there are train and test\n";
    return kUsage;
  }
  const auto dataset = model::load_dataset(options.dataset.string(), options.dataset);
  const model::Split& split = dataset->split(*split_name);
  if (options.index < 0 || options.index >= split.count()) {
    std::cerr << "mnistd: no index " << options.index << " in " << options.split << "; it has 0 to "
              << split.count() - 1 << '\n';
    return kUsage;
  }
  std::cout << model::ascii_digit(split.image(options.index), {.dataset = model::to_string(*split_name),
                                                               .truth = split.labels[options.index],
                                                               .index = options.index,
                                                               .count = split.count()})
            << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace mnistd::commands

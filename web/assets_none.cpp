// The program without a dashboard (-DMNISTD_WEB=OFF).
#include "web/assets.h"

namespace mnistd::web {

std::span<const Asset> assets() { return {}; }

}  // namespace mnistd::web

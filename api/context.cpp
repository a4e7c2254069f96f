#include "api/context.h"

namespace mnistd::api {

StreamSlots::Slot StreamSlots::acquire() {
  if (++*taken_ > limit_) {
    --*taken_;
    return nullptr;
  }
  const auto counter = taken_;
  return Slot(counter.get(), [counter](void*) { --*counter; });
}

}  // namespace mnistd::api

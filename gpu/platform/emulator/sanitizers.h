// Which sanitizers this is compiled with, and what they are told of a switch between stacks.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MNISTD_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MNISTD_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define MNISTD_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MNISTD_THREAD_SANITIZER 1
#endif
#endif

#ifdef MNISTD_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MNISTD_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace mnistd::gpu::emulator {

#ifdef MNISTD_ADDRESS_SANITIZER
inline constexpr bool kAddressSanitizer = true;
inline void announce_switch(void** fake_stack, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
}
inline void announce_arrival(void* fake_stack, const void** from, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, from, bytes);
}
#else
inline constexpr bool kAddressSanitizer = false;
inline void announce_switch(void**, const void*, std::size_t) {}
inline void announce_arrival(void*, const void**, std::size_t*) {}
#endif

#ifdef MNISTD_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
inline void* make_history() { return __tsan_create_fiber(0); }
inline void drop_history(void* history) { __tsan_destroy_fiber(history); }
inline void* current_history() { return __tsan_get_current_fiber(); }
inline void switch_history(void* history) { __tsan_switch_to_fiber(history, 0); }
#else
inline constexpr bool kThreadSanitizer = false;
inline void* make_history() { return nullptr; }
inline void drop_history(void*) {}
inline void* current_history() { return nullptr; }
inline void switch_history(void*) {}
#endif

}  // namespace mnistd::gpu::emulator

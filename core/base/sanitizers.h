// TANDEM_ASAN, TANDEM_TSAN: defined in builds with the address or the thread sanitizer.
#pragma once

#ifdef __SANITIZE_ADDRESS__
#define TANDEM_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define TANDEM_TSAN 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TANDEM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define TANDEM_TSAN 1
#endif
#endif

// under_sanitizer.hpp - which sanitizer this build uses.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_UNDER_ASAN 1
#endif
#endif
#ifndef WEFT_UNDER_ASAN
#define WEFT_UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define WEFT_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_UNDER_TSAN 1
#endif
#endif
#ifndef WEFT_UNDER_TSAN
#define WEFT_UNDER_TSAN 0
#endif

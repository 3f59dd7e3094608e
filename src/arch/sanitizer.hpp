// sanitizer.hpp - the calls that tell the sanitizer of this build about stacks.
#pragma once

#include "base/under_sanitizer.hpp"

#if WEFT_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WEFT_NOT_SANITIZED __attribute__((noinline, no_sanitize("address", "undefined")))
#elif WEFT_UNDER_TSAN
#include <sanitizer/tsan_interface.h>
#define WEFT_NOT_SANITIZED __attribute__((noinline, no_sanitize("thread")))
#else
#define WEFT_NOT_SANITIZED
#endif

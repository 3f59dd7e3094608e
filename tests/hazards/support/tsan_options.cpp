// tsan_options.cpp - what ThreadSanitizer is told in this folder, whose tests end processes by the dozen while threads go on in them.
#include "arch/sanitizer.hpp"

#if WEFT_UNDER_TSAN

// By default it sleeps for a second then, in case a thread is about to make a mistake.
extern "C" const char* __tsan_default_options() { return "atexit_sleep_ms=20"; }

#endif

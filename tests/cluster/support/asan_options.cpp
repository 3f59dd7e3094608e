// asan_options.cpp - what AddressSanitizer is told in the tests of clusters.
#include "arch/sanitizer.hpp"

#if WEFT_UNDER_ASAN

// By default each fiber gets a second stack, by which a use after return is found. Simulations make a hundred
// thousand fibers, and nine tenths of the tests' time would go into mapping these stacks.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }

#endif

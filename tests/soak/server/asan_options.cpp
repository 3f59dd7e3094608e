// asan_options.cpp - what AddressSanitizer is told in the soak's server, of which the memory is judged.
#include "arch/sanitizer.hpp"

#if WEFT_UNDER_ASAN

// By default it keeps 256 MiB of what was freed, and grows until then.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }

#endif

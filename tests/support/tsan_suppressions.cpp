// tsan_suppressions.cpp - reports of ThreadSanitizer that are known to be false.
//
// OpenSSL counts references to a session or a certificate by atomic operations in libraries that are not
// instrumented. ThreadSanitizer sees what these libraries do by malloc(), free(), memcpy() and locks, and
// not that the count orders the last reader of a session before the code that frees it.
#include "arch/sanitizer.hpp"

#if WEFT_UNDER_TSAN

extern "C" const char* __tsan_default_suppressions() { return "race:libcrypto.so\nrace:libssl.so\n"; }

#endif

extern "C" void weft_test_tsan_suppressions();  // asked for by the linker, which would leave this file in its archive
extern "C" void weft_test_tsan_suppressions() {}

// hooks.cpp - the functions the compiler calls at entry and exit of each instrumented function.
//
// This is a library of its own, so that programs that do not link it can use these two names for a
// profiler.
#include <weft/detail/export.hpp>
#include <weft/reductions.hpp>

extern "C" {

WEFT_EXPORT __attribute__((no_instrument_function)) void __cyg_profile_func_enter(void*, void*) { weft::detail::count_call(); }
WEFT_EXPORT __attribute__((no_instrument_function)) void __cyg_profile_func_exit(void*, void*) {}
}

// exception_state.cpp - finds the exception state of an OS thread.
#include "arch/exception_state.hpp"

#include <cxxabi.h>

WEFT_DEFINE_THREAD_WORD(weft_exception_word);
WEFT_DEFINE_THREAD_WORD(weft_identity_word);

namespace weft::detail {

// Not inlined: __cxa_get_globals is declared const, so a caller that switches could keep the answer
// of the old thread.
[[gnu::noinline]] exception_state* bind_exception_state() noexcept {
    void* const state = abi::__cxa_get_globals();
    if (!weft_identity_word) weft_exception_word = state;  // EXCEPTION_STATE-3
    return static_cast<exception_state*>(state);
}

}  // namespace weft::detail

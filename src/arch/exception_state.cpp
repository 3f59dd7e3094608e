// exception_state.cpp - finds the exception state of an OS thread.
#include "arch/exception_state.hpp"

#include <cxxabi.h>

WEFT_DEFINE_THREAD_WORD(weft_exception_word);

namespace weft::detail {

// Not inlined: __cxa_get_globals is declared const, so a caller that switches could keep the answer
// of the old thread.
[[gnu::noinline]] exception_state* bind_exception_state() noexcept {
    weft_exception_word = abi::__cxa_get_globals();
    return static_cast<exception_state*>(weft_exception_word);
}

}  // namespace weft::detail

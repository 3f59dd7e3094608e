// exception_state.hpp - what the C++ runtime keeps per OS thread about exceptions, which here has to follow the stack.
//
// E1  The state is empty at every switch of stacks. A stack that leaves inside a handler or an unwinding keeps its state in
//     its own frame and puts it back when it goes on, into the thread on which it goes on.
// E2  The address is that of the current OS thread and is asked for again after every switch: it may be another one.
#pragma once

#include "arch/thread_word.hpp"

namespace weft::detail {

/// The leading fields of __cxa_eh_globals (Itanium C++ ABI, 2.2.2).
struct exception_state {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    [[nodiscard]] bool empty() const noexcept { return caught == nullptr && uncaught == 0; }
};

WEFT_DECLARE_THREAD_WORD(weft_exception_word);

/// Asks the C++ runtime once per OS thread.
exception_state* bind_exception_state() noexcept;

/// The state of the OS thread that executes this. Not to be kept across a switch (E2).
inline exception_state* exception_state_here() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_exception_word);
    return word != nullptr ? static_cast<exception_state*>(word) : bind_exception_state();
}

/// Whether it is known and empty: a hint that never errs on that side.
inline bool exception_state_is_clear() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_exception_word);
    return word != nullptr && static_cast<exception_state*>(word)->empty();
}

}  // namespace weft::detail

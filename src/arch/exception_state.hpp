// exception_state.hpp - the C++ runtime's exception state of a thread, which must follow the stack.
//
// EXCEPTION_STATE-1  The state is empty at every switch of stacks. A stack that is left inside a
//                    handler or an unwinding keeps the state in its own frame, and puts it back
//                    when it goes on, into the thread on which it goes on.
// EXCEPTION_STATE-2  The address belongs to the current OS thread. It is asked for again after
//                    every switch, since the thread may be another one.
// EXCEPTION_STATE-3  The word of a thread that is a fiber's identity stays null. So the state of a fiber that
//                    has one is never clear, and a switch from it takes the long way, which leaves the
//                    identity. The exceptions of such a fiber stay in its identity.
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
WEFT_DECLARE_THREAD_WORD(weft_identity_word);  // the thread_identity that this thread is, or null

/// Asks the C++ runtime, once per OS thread.
exception_state* bind_exception_state() noexcept;

/// The state of the OS thread that runs the caller; null if it was not asked for there, and in an identity
/// (EXCEPTION_STATE-3).
inline exception_state* known_exception_state() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_exception_word);
    return static_cast<exception_state*>(word);
}

/// The state of the OS thread that runs the caller. Must not be kept across a switch
/// (EXCEPTION_STATE-2).
inline exception_state* exception_state_here() noexcept {
    auto* const known = known_exception_state();
    return known != nullptr ? known : bind_exception_state();
}

/// Whether the state is known and empty. A hint: false may be wrong, true never is.
inline bool exception_state_is_clear() noexcept {
    const auto* const known = known_exception_state();
    return known != nullptr && known->empty();
}

}  // namespace weft::detail

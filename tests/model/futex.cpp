// futex.cpp - the futex of base/futex.hpp in the model build.
#include "base/futex.hpp"

#include "model/execution.hpp"

namespace weft::detail {

// The kernel's look and the sleep are one step with respect to futex_wake() (FUTEX-1). What a waker
// knew when it called is respected by later looks, as the kernel's bucket lock orders them; the
// callers learn nothing from it (FUTEX-3).
futex_result futex_wait(const futex_word& word, std::uint32_t expected, std::optional<monotonic_ns> deadline) noexcept {
    using how = model::execution::futex;
    switch (model::execution::running().futex_wait(&word, word.model_location(), expected, deadline.has_value())) {
        case how::timed_out: return futex_result::timed_out;
        case how::changed: return futex_result::changed;
        case how::woken: break;
    }
    return futex_result::woken;
}

// Uses the address only: waking on a word that has just been destroyed is legal and common.
int futex_wake(const futex_word& word, int n) noexcept { return model::execution::running().futex_wake(&word, n); }

}  // namespace weft::detail

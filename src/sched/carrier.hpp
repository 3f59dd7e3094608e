// carrier.hpp - an OS thread that lends itself to a worker, and the one way to find it.
//
// A carrier has at most one worker. It may change whenever fiber code runs, so nobody keeps a carrier or a worker across a
// park: ask this_carrier() again.
#pragma once

#include "arch/context.hpp"
#include "arch/thread_word.hpp"
#include "sched/placement.hpp"

namespace weft::detail {

class worker;
class scheduler;
struct control_block;

struct carrier {
    worker* lent_to = nullptr;
    scheduler* owner = nullptr;
    control_block* current = nullptr;  // the fiber whose code runs; null in the worker's loop
    placement place;
    context own;                       // the thread's own stack: left at start, reached again at the end
};

WEFT_DECLARE_THREAD_WORD(weft_carrier_word);

/// The carrier of this OS thread, or null on a plain thread. Read anew at each call, whatever the compiler thinks.
inline carrier* this_carrier() noexcept {
    void* word;
    WEFT_READ_THREAD_WORD(word, weft_carrier_word);
    return static_cast<carrier*>(word);
}

void set_this_carrier(carrier*) noexcept;

/// The calling fiber, or null.
inline control_block* this_fiber_block() noexcept {
    const auto* const c = this_carrier();
    return c ? c->current : nullptr;
}

}  // namespace weft::detail

// carrier_inline.hpp - what each loop of a carrier does with a body, and the first code behind a switch.
//
// For carrier_loop.cpp and carrier_now.cpp, which inline all of it: an empty fiber costs little more.
#pragma once

#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

[[gnu::always_inline]] inline void carrier::dispatch(worker& w, control_block& f) noexcept {
    current_.store(&f, release);  // pairs with seen_current()
    f.phase.store(fiber_state::running, relaxed);  // a hint
    w.tick();
}

[[gnu::always_inline]] inline void carrier::run_body(control_block& f) noexcept {
    if (f.owner->looks_at_starts()) [[unlikely]]
        f.owner->look_at_start(f);
    f.body->run();
}

// \returns run_refers: the run's reference must still be dropped. gone: it was dropped. last: it
// was dropped and was the last one.
[[gnu::always_inline]] inline carrier::after_body carrier::body_ended(control_block& f) noexcept {
    const bool stop_siblings = f.body->failure() && body_failed(f);
    if (f.life.is_unjoinable()) {
        f.destroy_body();  // CONTROL_BLOCK-2; user code, so here on the fiber
        if (f.parent) f.parent->child_ended(f, stop_siblings);
        return after_body::run_refers;
    }
    if (!f.parent && f.life.end_and_drop()) return after_body::gone;
    const auto found = f.life.end();
    if (!found.had_handle) f.destroy_body();  // CONTROL_BLOCK-2
    if (found.was_awaited) wake_joiners(f);   // CONTROL_BLOCK-4
    // After the joiners: a joiner in the scope's body receives the failure itself.
    if (f.parent) f.parent->child_ended(f, stop_siblings);
    return f.life.drop() ? after_body::last : after_body::gone;
}

// Called inside.
[[gnu::always_inline]] inline void carrier::finish(control_block& f, after_body how, bool has_worker) noexcept {
    current_.store(nullptr, relaxed);
    if (how == after_body::run_refers) {
        // LIFE_WORD-3
        const bool seen = !has_worker || owner_.is_observed() || !f.life.free_after_run();
        if (!seen || end_observed(f)) [[likely]]
            how = after_body::last;
    }
    if (how == after_body::last) recycle(f);
    count_end();
    give_back_room();
}

// The first code of a fiber after a switch: commits for the previous fiber and ends the visit.
[[gnu::always_inline]] inline void carrier::arrive() noexcept {
    carrier& c = *this_carrier();  // may be another than before the switch
    if (c.after_ == afterwards::commit_park) {
        c.after_ = afterwards::nothing;
        static_cast<control_block*>(c.after_what_)->cold().word.left();
    } else if (c.after_ != afterwards::nothing) [[unlikely]] {
        return c.arrive_and_commit();
    }
    c.leave();
}

}  // namespace weft::detail

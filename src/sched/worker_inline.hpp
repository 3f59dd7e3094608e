// worker_inline.hpp - the inline fast path: makes fibers runnable, disposes of those that ended.
#pragma once

#include "sched/scheduler.hpp"

namespace weft::detail {

inline void worker::ready(control_block& f) noexcept {
    if (state_.takes_in()) return push(f);
    if (auto* const homeless = queue_.push_next(f)) overflow(*homeless);
    notify();
}

inline bool worker::note_class(const control_block& f) noexcept {
    if (f.is_classed()) [[unlikely]] {
        state_.attend_classes();
        poll_at_.store(0, relaxed);
    }
    return true;
}

inline void worker::ready_in_class(control_block& f) noexcept {
    if (state_.takes_in()) return enqueue(f);
    if (auto* const homeless = queue_of(f).push_next(f)) overflow(*homeless);
    note_class(f);
    notify();
}

inline void worker::enqueue(control_block& f) noexcept {
    append(f);
    if (!state_.takes_in()) notify();
}

inline void worker::push(control_block& f) noexcept {
    if (!queue_.push(f)) [[unlikely]]
        overflow(f);
}

[[gnu::always_inline]] inline control_block* worker::pick() noexcept {
    if (ticks_.load(relaxed) >= poll_at_.load(relaxed)) [[unlikely]]
        poll_before_pick();
    if (state_.has_news()) [[unlikely]]
        if (auto* const f = attend_news()) return f;
    return queue_.pop();
}

inline void worker::notify() noexcept {
    if (!alone_ && owner_.idle().lacks_searcher()) [[unlikely]]
        wake_helper();
}

inline void carrier::start(control_block& f) noexcept {
    if (f.is_any(rare_place)) [[unlikely]]
        return start_rare(f);
    start_common(f);
}

[[gnu::always_inline]] inline void carrier::start_common(control_block& f) noexcept {
    born_.store(born_.load(relaxed) + 1, relaxed);  // own thread only
    if (holder().is_inside()) [[unlikely]]
        return start_inside(f);
    if (!holder().try_enter()) [[unlikely]]
        return start_attentively(f);
    worker& w = its_worker();
    if (!w.queue_.push_if_room(f)) [[unlikely]]
        return start_attentively(f);
    leave();
    w.notify();  // outside the visit: what it reads never changes, or is a hint
}

[[gnu::always_inline]] inline void carrier::count_end() noexcept {
    ended_.store(ended_.load(relaxed) + 1, release);  // own thread only; pairs with scheduler::live()
}

[[gnu::always_inline]] inline void carrier::recycle(control_block& f) noexcept {
    if (!f.is_tidy()) [[unlikely]]
        scheduler::tidy(f);
    blocks_.give(f);
}

[[gnu::always_inline]] inline void carrier::give_back_room() noexcept {
    if (auto* const limit = owner_.limit()) [[unlikely]]
        limit->give();
}

inline void carrier::ready_in_class(control_block& f) noexcept {
    const visit here(*this, on_demand::concede);
    if (here.has_worker())
        here.its_worker().ready_in_class(f);
    else
        owner_.inject(f);
}

inline void carrier::ready(control_block& f) noexcept {
    const visit here(*this, on_demand::concede);
    if (here.has_worker()) [[likely]]
        here.its_worker().ready(f);
    else
        owner_.inject(f);
}

}  // namespace weft::detail

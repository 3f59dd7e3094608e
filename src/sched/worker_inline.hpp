// worker_inline.hpp - making fibers runnable: worker's members that spawn, wake and park inline.
#pragma once

#include "sched/scheduler.hpp"

namespace weft::detail {

inline void worker::ready(control_block& f) noexcept {
    const visit inside(*this);
    if (taking_in_) return push(f);
    if (auto* const homeless = fiber_queue::owner(queue_).push_next(f)) overflow(*homeless);
    notify();
}

inline void worker::enqueue(control_block& f) noexcept {
    const visit inside(*this);
    push(f);
    if (!taking_in_) notify();
}

[[gnu::always_inline]] inline void worker::start(control_block& f) noexcept {
    born_.store(born_.load(relaxed) + 1, relaxed);  // owner only
    fiber_queue::owner queue(queue_);
    if (queue.is_inside()) [[unlikely]] return enqueue(f);
    queue.enter();
    push(f);
    queue.leave();
    notify();
}

inline void worker::push(control_block& f) noexcept {
    if (!fiber_queue::owner(queue_).push(f)) [[unlikely]] overflow(f);
}

inline void worker::notify() noexcept {
    if (!alone_) owner_.wake_sleeper();
}

}  // namespace weft::detail

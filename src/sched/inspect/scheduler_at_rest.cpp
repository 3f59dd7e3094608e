// scheduler_at_rest.cpp - hints on whether all fibers of a scheduler may wait for one another.
//
// They are asked when no fiber has run for a while.
#include <algorithm>

#include "sched/scheduler.hpp"

namespace weft::detail {

bool scheduler::some_wait_for_another() noexcept {
    bool some = false;
    blocks_.for_each([&](control_block& f) {
        const auto& cold = f.cold();
        if (some || cold.in_place.load(relaxed)) return void(some = true);
        if (cold.word.state() != wait_state::waiting) return;
        some = cold.waits_for().holders != nullptr;
    });
    return some;
}

bool scheduler::has_timers() const noexcept {
    return std::ranges::any_of(workers_, [](const auto& w) { return w->timers().earliest() != never; });
}

}  // namespace weft::detail

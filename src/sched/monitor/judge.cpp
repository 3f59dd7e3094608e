// judge.cpp - the verdict on a worker, from what the monitor has watched and what the kernel says.
#include "sched/monitor/judge.hpp"

#include "sched/simulate/choice.hpp"

namespace weft::detail {
namespace {

verdict any_verdict() noexcept {
    if (choose(2) == 0) return verdict::keeps_worker;
    return choose(2) == 0 ? verdict::computes : verdict::blocks;
}

}  // namespace

verdict judge::look(watch& eye, const sighting& s, const thread_probe& probe, bool profit) const noexcept {
    const auto seen = eye.look(s, slice_);
    if (!s.runs_fiber || !profit) return verdict::keeps_worker;
    if (at_random_) return any_verdict();
    switch (seen) {
        case conclusion::leave: return verdict::keeps_worker;
        case conclusion::computes: return verdict::computes;
        case conclusion::stands_still: break;
    }
    if (blocks(eye, probe, s.when)) return verdict::blocks;
    // Not blocked: it waits for a CPU. It is a hog if it had used its slice up before that.
    return eye.has_used_up() ? verdict::computes : verdict::suspect;
}

// Whether a carrier that stands still is blocked, and does not wait for a CPU.
bool judge::blocks(const watch& eye, const thread_probe& probe, time_point now) const noexcept {
    switch (probe.activity()) {
        case thread_activity::sleeps: return true;
        case thread_activity::runs: return false;  // it waits for a CPU
        case thread_activity::unknown:
        case thread_activity::not_asked: break;
    }
    return now - eye.still_since() >= slice_;
}

time_point judge::next_look(time_point now, bool anybody_runs, bool profit, suspicion s) const noexcept {
    if (at_random_) return clock::now() + std::chrono::microseconds(choose(200));
    return detail::next_look(now, anybody_runs, profit, s);
}

}  // namespace weft::detail

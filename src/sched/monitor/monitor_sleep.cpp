// monitor_sleep.cpp - how the monitor sleeps, and is woken.
#include <algorithm>

#include "sched/monitor/monitor.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

constexpr auto first_look =
    std::chrono::microseconds(300);  // required: with `usual` of watch.cpp, what blocks is taken within 1 ms
constexpr auto may_miss = std::chrono::milliseconds(1);  // chosen: longer than next_look() has while somebody would profit

}  // namespace

// Nothing runs.
void monitor::sleep_until_quiet() noexcept {
    std::uint64_t dispatches = 0;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) dispatches += owner_.worker_at(i).dispatches();
    owner_.for_each_carrier([&](const carrier& c) { dispatches += c.parks(); });  // also of those who run without a worker
    if (quiet_.is_due(dispatches, clock::now()) && owner_.live() != 0 && owner_.options().may_be_stuck()) {
        hogs_.start();
        hogs_.all_sleep();
    }
    sleep_until(quiet_.due(), quiet_.due());
}

// If that is long: until somebody runs. (Dekker with somebody_runs(): it is awake, fence, looks whether the monitor rests.) `next` is
// `nothing_runs` if nothing did when the monitor looked.
void monitor::sleep_until(time_point next, time_point nothing_runs) noexcept {
    alarm_.set(next == nothing_runs ? std::min(next, after_timer_) : next);  // before others may
    if (next - clock::now() > may_miss) {
        rests_.store(true, relaxed);
        heavy_fence();
        if (next == nothing_runs && !all_sleep()) return rests_.store(false, relaxed);
    }
    alarm_.wait();
    rests_.store(false, relaxed);
}

bool monitor::all_sleep() const noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (!owner_.worker_at(i).asleep()) return false;
    return !owner_.demoted().is_waited_for();
}

// Not now: it would have this CPU first, and what has just begun to run is no hog.
void monitor::look_soon() noexcept {
    if (rests_.exchange(false, relaxed)) alarm_.set(clock::now() + first_look);
}

void monitor::hurry() noexcept { alarm_.ring(); }

}  // namespace weft::detail

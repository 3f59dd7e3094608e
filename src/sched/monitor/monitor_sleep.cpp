// monitor_sleep.cpp - how the monitor sleeps and is woken.
#include <algorithm>

#include "sched/monitor/monitor.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// required: with `usual` of watch.cpp, a worker whose fiber blocks is taken within 1 ms
constexpr auto first_look = std::chrono::microseconds(300);
// chosen: longer than next_look() waits while any fiber would profit
constexpr auto may_miss = std::chrono::milliseconds(1);

}  // namespace

// Sleeps while no fiber runs; has it reported when that has lasted for long and fibers live.
void monitor::sleep_until_quiet() noexcept {
    std::uint64_t dispatches = 0;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) dispatches += owner_.worker_at(i).dispatches();
    // Counts carriers without a worker, too.
    owner_.for_each_carrier([&](const carrier& c) { dispatches += c.parks(); });
    if (quiet_.is_due(dispatches, clock::now()) && owner_.live() != 0 && owner_.options().may_be_stuck()) {
        hogs_.start();
        hogs_.all_sleep();
    }
    sleep_until(quiet_.due(), quiet_.due());
}

// Sleeps until `next`; if that is long, only until a worker finds a fiber to run. (Dekker with
// somebody_runs(): the worker is awake, fence, looks at rests_; here rests_ is set, fence, look
// whether all sleep.) `next` equals `nothing_runs` if no fiber ran when the monitor looked.
void monitor::sleep_until(time_point next, time_point nothing_runs) noexcept {
    look_.forbid();
    // Before rests_ or look_ lets workers set it.
    alarm_.set(next == nothing_runs ? std::min(next, after_timer_) : next);
    const auto now = clock::now();
    if (next - now <= may_miss) {
        if (calm_.load(relaxed)) look_.allow(next, now);
    } else {
        rests_.store(true, relaxed);
        heavy_fence();
        if (next == nothing_runs) {
            if (!all_sleep()) return rests_.store(false, relaxed);
        } else if (somebody_keeps_work()) {
            alarm_.set(now + first_look);  // BURST-3
        }
    }
    alarm_.wait();
    rests_.store(false, relaxed);
    look_.forbid();
}

bool monitor::all_sleep() const noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (!owner_.worker_at(i).asleep()) return false;
    return !owner_.demoted().is_waited_for();
}

// BURST-3, IDLE_SET-8: whether some worker may have work that no other is woken for.
bool monitor::somebody_keeps_work() const noexcept {
    if (owner_.worker_count() == 1 || owner_.idle().sleeping_count() == 0) return false;
    bool any = false;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& w = owner_.worker_at(i);
        if (w.asleep()) continue;
        if (w.has_work()) return true;
        any |= w.the_burst().alone_up_to() != 0;
    }
    return any && (owner_.the_lead().is_free() || some_timer_is_overslept());
}

// The look would come while the worker sleeps. A short sleep puts it off as a poll does; before a long
// one the monitor may rest (PUT_OFF-2, PUT_OFF-4).
void monitor::let_sleep(time_point now, duration foreseen) noexcept {
    if (foreseen < put_off::pace) return put_look_off(now);
    const auto until = time_point(duration(round_at_.load(relaxed))) + put_off::longest;
    if (now + foreseen < until && may_rest()) rest(until);
}

// An overdue timer of a sleeper needs no look: all sleep, so the one that leads minds it, as while the
// monitor sleeps because it has found all asleep.
bool monitor::may_rest() const noexcept { return calm_.load(relaxed) && !ran_alone_.load(relaxed) && all_sleep(); }

// PUT_OFF-4. The caller is a worker that sleeps, and the monitor sleeps meanwhile. The steps are those
// of sleep_until().
void monitor::rest(time_point until) noexcept {
    look_.forbid();
    alarm_.set(until);
    rests_.store(true, relaxed);
    owner_.worker_count() == 1 ? fence(seq_cst) : heavy_fence();  // pairs with somebody_runs() and somebody_waits()
    if (!may_rest()) look_soon();
}

// Sets the alarm instead of waking the monitor: it would get this CPU first, and a fiber that has
// just begun to run is not a hog.
void monitor::look_soon() noexcept {
    if (!rests_.exchange(false, relaxed)) return;
    const auto now = clock::now();
    alarm_.set(now + first_look);
    if (calm_.load(relaxed)) look_.allow(now + first_look, now);
}

// Called by a worker that has polled. It leaves the look where it is if that is for more than for
// workers that stay away from their loops: for hogs, and for a sleeper whose timer is late (LEAD-3).
void monitor::put_look_off(time_point now) noexcept {
    if (!calm_.load(relaxed) || ran_alone_.load(relaxed) || owner_.demoted().is_waited_for()) return;
    auto oldest = now;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        const auto& w = owner_.worker_at(i);
        if (!w.asleep())
            oldest = std::min(oldest, w.last_poll());
        else if (w.unminded() <= now)
            return;
    }
    const auto next = look_.move(now, oldest);
    if (!next) return;
    was_put_off_.store(true, relaxed);
    alarm_.set(*next);
}

void monitor::hurry() noexcept { alarm_.ring(); }

}  // namespace weft::detail

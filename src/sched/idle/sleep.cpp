// sleep.cpp - how an idle worker sleeps, until when, and which one of them minds the driver and the timers.
#include <algorithm>

#include "sched/exact_timers.hpp"
#include "sched/idle/idle.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {

void idle_worker::sleep() noexcept {
    require(!call_, "RUN_QUEUE-3: a call is ended before its thief sleeps");
    auto& s = w_.owner_;
    const bool needs_monitor = s.idle().announce_sleep(w_.index_, w_.state_.end_search(), s.is_watched());
    w_.asleep_.store(true, relaxed);  // a hint; found() wakes a leader that relied on it
    if (needs_monitor) s.the_monitor().somebody_runs();  // IDLE_SET-8
    // Step 3 of idle_set.hpp. Work queued now is found by a searcher, if there is one (IDLE_SET-2),
    // or by the workers that are awake, if enough are (IDLE_SET-7).
    if ((!s.work_needs_help() || s.idle().anybody_searches() || s.idle().enough_awake()) && !this_carrier()->has_pinned() &&
        !s.stopping()) {
        w_.sleeps_.store(w_.sleeps_.load(relaxed) + 1, relaxed);  // owner only
        const auto since = w_.last_poll();
        s.the_monitor().somebody_sleeps(since, w_.last_sleep_);
        sleep_until(tidy_at_);
        w_.last_sleep_ = clock::now() - since;
    }
    w_.asleep_.store(false, relaxed);  // a hint
    if (s.idle().retract(w_.index_)) return;
    w_.state_.begin_search();  // IDLE_SET-5
    w_.wakes_.store(w_.wakes_.load(relaxed) + 1, relaxed);  // owner only
}

void idle_worker::sleep_until(time_point until) noexcept {
    if (w_.owner_.worker_count() == 1 || in_others_way_) return sleep_here_until(until);
    w_.cpu_.store(placement::here(), relaxed);  // a hint
    auto& affinity = this_carrier()->affinity();
    affinity.stay_off(cpus_of_others(), w_.owner_.the_monitor().monitor_id());
    sleep_here_until(until);
    affinity.stay_anywhere();
}

cpu_set_t idle_worker::cpus_of_others() const noexcept {
    auto& s = w_.owner_;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (unsigned i = 0; i < s.worker_count(); ++i)
        if (const int cpu = s.worker_at(i).cpu(); cpu >= 0 && i != w_.index_) CPU_SET(cpu, &cpus);
    return cpus;
}

void idle_worker::sleep_here_until(time_point until) noexcept {
    auto& s = w_.owner_;
    led_ = s.the_lead().take_or_want();
    if (!led_) {
        auto timer = w_.timers_.earliest();
        // If the leader sleeps for no longer, it minds these timers too (LEAD-3), so that one thread
        // wakes, and not two. Beside hogs any thread may come late, and each minds its own.
        if (s.is_watched() && !s.the_lead().oversleeps(timer)) timer = never;
        w_.wake_for_timers_at(timer);
        const auto wake_at = std::min(until, not_too_soon(timer));
        {
            const exact_timers here(w_.last_poll(), timer);
            w_.parker_.sleep(wake_at);
        }
        w_.wake_for_timers_at(never);
        note_wake(timer, clock::now());
        return;
    }
    auto timer = earliest_timer();
    s.the_lead().begin_sleep(std::min(until, timer));
    timer = std::min(timer, earliest_timer());  // LEAD-3
    w_.state_.begin_taking_in();  // no notify() while polling: found() notifies
    const auto wake_at = std::min(until, not_too_soon(timer));
    w_.wake_for_timers_at(timer);
    bool has_polled = false;
    {
        const exact_timers here(w_.last_poll(), timer);
        has_polled = w_.parker_.sleep_in(s.io(), wake_at) != 0;
    }
    w_.wake_for_timers_at(never);
    const auto now = clock::now();
    if (has_polled) w_.has_polled_driver(now);  // else a wake may have come before the driver was asked
    if (note_wake(timer, now)) w_.expire_timers_of(worker::whose::everybody, w_.woke_for_timer_);
    w_.state_.end_taking_in();
    s.the_lead().end_sleep();
    s.the_lead().give_back();  // LEAD-2: if this worker does not sleep again, found() wakes another
}

time_point idle_worker::earliest_timer() const noexcept {
    auto& s = w_.owner_;
    auto first = w_.timers_.earliest();
    for (unsigned i = 0; i < s.worker_count(); ++i)
        if (i != w_.index_) first = std::min(first, s.worker_at(i).unminded());
    return first;
}

// Timers that follow each other closely share wakes: a sleep costs 8 us of a core, so 100,000 a
// second would take most of it. Beside hogs none is put off: there a thread that wakes has to wait
// for a CPU anyway.
time_point idle_worker::not_too_soon(time_point timer) const noexcept {
    auto& s = w_.owner_;
    if (timer == never || s.the_monitor().computing_without_worker() != 0) return timer;
    return std::max(timer, w_.woke_for_timer_ + s.options().timer_slack);
}

bool idle_worker::note_wake(time_point timer, time_point now) noexcept {
    w_.coarse_now_ = coarse(now);
    if (timer > now) return false;
    w_.woke_for_timer_ = now;
    return true;
}

}  // namespace weft::detail

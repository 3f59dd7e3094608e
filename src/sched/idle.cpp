#include "sched/idle.hpp"

#include <algorithm>
#include <array>

#include "sched/choice.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

constexpr auto spin_for = std::chrono::microseconds(50);     // measured: the price of a sleep and a wake (mechanisms.md, 3.2)
constexpr auto nap_for = std::chrono::microseconds(50);      // required: with the wake-up, work waits at most 200 us while somebody is idle
constexpr auto stale_after = std::chrono::microseconds(20);  // chosen (K4): longer than a fiber that has woken another needs to park
constexpr int naps = 16;                                     // chosen: it looks for 0.8 ms
constexpr int relaxes_per_look = 20;                         // chosen: a look at the others costs them a cache line

}  // namespace

control_block* idle_worker::find_work() noexcept {
    for (;;) {
        if (auto* const f = look()) return found(f);
        if (w_.owner_.stopping()) return nullptr;
        if (!w_.searching_) w_.searching_ = w_.owner_.idle().begin_search();
        if (w_.searching_)
            if (auto* const f = search()) return found(f);
        sleep();
    }
}

// Takes in what has become ready and returns the first of it.
control_block* idle_worker::look() noexcept {
    w_.poll();
    return w_.pick();
}

control_block* idle_worker::found(control_block* f) noexcept {
    auto& s = w_.owner_;
    w_.spin_ = true;
    const bool hand_on = std::exchange(led_, false);
    if (std::exchange(w_.searching_, false)) s.idle().end_search();  // I2: now look whether there is more
    if (w_.timers_.earliest() != never) w_.timer_is_news_ = s.worker_count() > 1;
    if (hand_on || s.work_is_queued()) s.wake_sleeper();
    return f;
}

control_block* idle_worker::search() noexcept {
    auto& s = w_.owner_;
    if (std::exchange(w_.spin_, false)) {
        const auto end = clock::now() + spin_for;
        do {
            if (auto* const f = steal()) return f;
            if (!s.injected().empty()) return look();
            for (int i = 0; i < relaxes_per_look; ++i) cpu_relax();
        } while (others_are_busy() && clock::now() < end);
    }
    for (int i = 0; i < naps && others_are_busy() && !s.stopping(); ++i) {
        nap();
        if (auto* const f = look()) return f;
        if (auto* const f = steal()) return f;
        if (!std::exchange(saw_next_, false)) continue;
        for (const auto end = clock::now() + stale_after; clock::now() < end;) cpu_relax();  // shorter than any sleep (K4)
        if (auto* const f = steal()) return f;
    }
    return steal();
}

control_block* idle_worker::steal() noexcept {
    auto& s = w_.owner_;
    const auto n = s.worker_count();
    if (n == 1) return nullptr;
    const auto now = clock::now();
    const auto first = choose(n);
    for (unsigned i = 0; i < n; ++i) {
        auto& victim = s.worker_at((first + i) % n);
        if (&victim == &w_) continue;
        if (victim.timers_.earliest() <= now) {  // its carrier is in a long body
            w_.taking_in_ = true;
            victim.timers_.expire(now);
            w_.taking_in_ = false;
            if (auto* const f = w_.pick()) return f;
        }
        std::array<control_block*, 128> loot;  // half a ring
        if (const auto k = worker::fiber_ring::thief(victim.ring_).steal(loot.data(), loot.size())) {
            w_.steals_.store(w_.steals_.load(relaxed) + k, relaxed);  // owner only
            w_.taking_in_ = true;                                     // found() notifies
            for (std::uint32_t j = 1; j < k; ++j) w_.enqueue(*loot[j]);
            w_.taking_in_ = false;
            return loot[0];
        }
        if (auto* const f = steal_stale_next(victim, now)) return f;
    }
    return nullptr;
}

// K4: two looks, `stale_after` apart, at the same fiber with no dispatch between them.
control_block* idle_worker::steal_stale_next(worker& victim, time_point now) noexcept {
    auto* waits = victim.next_.load(relaxed);  // the exchange below decides
    if (!waits) return nullptr;
    const auto tick = victim.ticks_.load(relaxed);
    auto& seen = w_.seen_[victim.index()];
    if (seen.fiber != waits || seen.tick != tick) {
        seen = {.fiber = waits, .tick = tick, .since = now};
        saw_next_ = true;
        return nullptr;
    }
    if (now - seen.since < stale_after) return nullptr;
    // acquire: pairs with ready(); if the same fiber has come back meanwhile it is waiting there all the same
    if (!victim.next_.compare_exchange_strong(waits, nullptr, acq_rel, relaxed)) return nullptr;
    w_.steals_.store(w_.steals_.load(relaxed) + 1, relaxed);  // owner only
    return waits;
}

bool idle_worker::others_are_busy() const noexcept {
    auto& s = w_.owner_;
    return s.idle().sleeping_count() + 1 < s.worker_count();  // all but this one and the sleepers
}

time_point idle_worker::earliest_timer() const noexcept {
    auto& s = w_.owner_;
    auto first = w_.timers_.earliest();
    for (unsigned i = 0; i < s.worker_count(); ++i)  // a sleeper minds its own
        if (auto& other = s.worker_at(i); !other.asleep()) first = std::min(first, other.timers().earliest());
    return first;
}

// Between two looks of the searcher; it counts as searching, so only work from outside wakes it (wake_searcher()).
void idle_worker::nap() noexcept {
    w_.owner_.set_napper(&w_);
    fence(seq_cst);                    // pairs with the fence of wake_searcher()
    if (w_.owner_.injected().empty())  // after set_napper(): whoever pushed before has not seen the napper
        sleep_until(clock::now() + nap_for);
    w_.owner_.set_napper(nullptr);
}

void idle_worker::sleep() noexcept {
    auto& s = w_.owner_;
    s.idle().announce_sleep(w_.index_, std::exchange(w_.searching_, false));
    w_.asleep_.store(true, relaxed);  // a hint; found() makes good for a leader that believed it
    // Step 3 of idle_set.hpp. A searcher that is about takes the work queued now upon itself (I2).
    if ((!s.work_is_queued() || s.idle().anybody_searches()) && !s.stopping()) {
        w_.sleeps_.store(w_.sleeps_.load(relaxed) + 1, relaxed);  // owner only
        sleep_until(never);
    }
    w_.asleep_.store(false, relaxed);
    w_.searching_ = !s.idle().retract(w_.index_);  // I5
}

void idle_worker::sleep_until(time_point until) noexcept {
    if (w_.owner_.worker_count() == 1) return sleep_here_until(until);
    w_.cpu_.store(placement::here(), relaxed);  // a hint
    auto& place = this_carrier()->place;
    place.stay_off(cpus_of_others());
    sleep_here_until(until);
    place.stay_anywhere();
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
    led_ = s.try_lead_or_wait_for_it();
    if (!led_) {
        w_.parker_.sleep(std::min(until, w_.timers_.earliest()));
        return;
    }
    until = std::min(until, earliest_timer());
    s.publish_leader_sleep(until);
    until = std::min(until, earliest_timer());  // Dekker: see publish_leader_sleep()
    w_.taking_in_ = true;                       // found() notifies
    w_.parker_.sleep_in(s.io(), until);
    w_.taking_in_ = false;
    s.end_leader_sleep();
    s.end_lead();
}

}  // namespace weft::detail

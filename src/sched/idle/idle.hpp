// idle.hpp - what a worker does that has nothing to run: look round, search for a while, sleep.
//
// Searching costs the others nothing; waking a sleeper costs 12 us of the waker and 32 us until it
// runs (docs/measurements/waking.md). So the one searcher does not sleep at once: it spins for a
// moment if work was seen lately, and then looks again every `nap` while others are busy. While it
// does so nobody need wake anybody (idle_set.hpp), and a fiber that waits behind a neighbour's long
// computation is found within a nap. Only when `naps` looks in a row found nothing does it sleep
// for good; an idle process therefore does not wake at all. Beside hogs nobody searches for long
// (lacks_cpu()).
// Who is one too many (I7) does not look at the others at all, and leaves to them what its own timers or the driver bring.
#pragma once

#include <optional>

#include "sched/worker.hpp"

namespace weft::detail {

class idle_worker {
public:
    explicit idle_worker(worker& w) noexcept : w_(w) {}

    /// The next fiber to run; null when the scheduler stops.
    control_block* find_work() noexcept;

private:
    control_block* look() noexcept;               // own queues, timers, driver, injector
    control_block* pick() noexcept;
    control_block* search() noexcept;             // other workers, for a while
    control_block* steal() noexcept;              // one round over the others, or one look at the victim that was asked
    control_block* steal_patiently() noexcept;    // the same until the victim has answered or been overruled
    control_block* await_answer(control_block* f) noexcept;
    control_block* look_at_answer(time_point now) noexcept;
    control_block* take_better() noexcept;  // instead of the low fibers it has
    control_block* end_call() noexcept;
    control_block* take_over(control_block** loot, std::uint32_t n, time_point now) noexcept;
    bool worth_asking(worker& victim, time_point now) noexcept;
    void judge_last_loot() noexcept;
    control_block* found(control_block* f) noexcept;
    bool tidy() noexcept;                         // memory that a burst has left
    void nap() noexcept;
    void sleep() noexcept;
    void sleep_until(time_point until) noexcept;
    void sleep_here_until(time_point until) noexcept;
    cpu_set_t cpus_of_others() const noexcept;
    time_point not_too_soon(time_point timer) const noexcept;
    void note_wake(time_point timer) noexcept;
    bool others_are_busy() const noexcept;
    bool lacks_cpu() const noexcept;
    bool is_surplus(const control_block* f) const noexcept;
    void give_away(control_block* f) noexcept;
    time_point earliest_timer() const noexcept;

    worker& w_;
    std::optional<queue_thief<worker>> call_;  // on the queue of another (run_queue.hpp, Q3)
    time_point asked_at_;
    bool only_above_low_ = false;  // a victim with low fibers only is no victim
    bool backed_off_ = false;  // a victim was left alone for the tiny loot it had given
    time_point tidy_at_ = never;  // when memory is to be given back
    bool in_others_way_ = false;  // what it does now takes a CPU from fibers that compute
    bool led_ = false;  // slept in the driver last: if it goes away with work, another must watch there
};

}  // namespace weft::detail

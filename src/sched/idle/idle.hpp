// idle.hpp - what a worker does that has nothing to run: it searches for a while, then sleeps.
//
// Searching costs the other workers nothing; waking a sleeper costs 12 us of the waker and 32 us
// until it runs (docs/measurements/waking.md). So the one searcher does not sleep at once: it spins
// for a moment if work was seen lately, and then looks again after each nap (idle.cpp) while others
// are busy. While it does so no thread needs to wake a sleeper (idle_set.hpp), and a fiber that
// waits behind a neighbour's long computation is found within a nap. Only when `naps` looks in a
// row have found nothing does it sleep for good; an idle process therefore does not wake at all.
// Beside hogs no worker searches for long (lacks_cpu()). A surplus worker (IDLE_SET-7) does not
// search; it leaves to the others what its own timers or the driver bring.
#pragma once

#include <optional>

#include "sched/worker.hpp"

namespace weft::detail {

class idle_worker {
public:
    explicit idle_worker(worker& w) noexcept : w_(w) {}

    /// \returns the next fiber to run; null when the scheduler stops.
    control_block* find_work() noexcept;

private:
    // Looks at its own queues and timers, the driver and the injector.
    control_block* look() noexcept;
    control_block* pick() noexcept;
    bool may_search() noexcept;                   // makes it the searcher, if there is none
    control_block* search() noexcept;             // looks at the other workers, for a while
    // Asks a victim for fibers and returns null, or looks for the answer of the victim asked.
    control_block* ask_or_collect() noexcept;
    // Repeats ask_or_collect() until the victim has answered or was overruled.
    control_block* steal_patiently() noexcept;
    control_block* await_answer(control_block* f) noexcept;
    control_block* look_at_answer(time_point now) noexcept;
    control_block* take_better() noexcept;  // steals a fiber above the low ones that the worker has
    control_block* end_call() noexcept;
    control_block* take_over(control_block** stolen, std::uint32_t n, time_point now) noexcept;
    bool worth_asking(worker& victim, time_point now) noexcept;
    void end_burst() noexcept;
    void judge_last_theft(time_point now) noexcept;
    control_block* found(control_block* f) noexcept;
    bool tidy() noexcept;                         // gives back memory that a burst has left
    void nap() noexcept;
    void sleep() noexcept;
    void sleep_until(time_point until) noexcept;
    void sleep_here_until(time_point until) noexcept;
    cpu_set_t cpus_of_others() const noexcept;
    time_point not_too_soon(time_point timer) const noexcept;
    /// \returns whether the worker woke for `timer`.
    bool note_wake(time_point timer, time_point now) noexcept;
    bool others_are_busy() const noexcept;
    bool lacks_cpu() const noexcept;
    bool is_surplus(const control_block* f) const noexcept;
    void give_away(control_block* f) noexcept;
    time_point earliest_timer() const noexcept;

    worker& w_;
    // Its call on the queue of a victim (RUN_QUEUE-3).
    std::optional<queue_thief<worker>> call_;
    time_point asked_at_;
    bool only_above_low_ = false;  // a worker that has only low fibers is not a victim
    bool backed_off_ = false;  // a victim was left alone because the last theft from it was tiny
    time_point tidy_at_ = never;  // when to give back memory
    bool in_others_way_ = false;  // searching now would take a CPU from fibers that compute
    // It slept in the driver last. If it goes away with work, another worker must watch the driver.
    bool led_ = false;
};

}  // namespace weft::detail

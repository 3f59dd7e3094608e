// idle.cpp - how a worker without work looks for it at the others, and how it naps between two looks.
#include "sched/idle/idle.hpp"

#include <algorithm>

#include "sched/scheduler.hpp"
#include "sched/simulate/choice.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/worker_inline.hpp"

namespace weft::detail {
namespace {

constexpr auto spin_for = std::chrono::microseconds(50);  // chosen: see docs/measurements/waking.md
// required: with the wake-up, work waits at most 200 us while a worker is idle
constexpr auto nap_for = std::chrono::microseconds(25);
// required: the same bound of 200 us; each nap takes 15 us of a CPU that hogs want
constexpr auto long_nap = std::chrono::microseconds(100);
// chosen: longer than a fiber that has woken another needs to park
constexpr auto patience = std::chrono::microseconds(20);
// chosen: a victim between bodies answers sooner
constexpr auto answer_in = std::chrono::microseconds(10);
// chosen: the shortest time that a theft should last; see docs/measurements/run-order.md
constexpr auto tiny = std::chrono::microseconds(20);
// chosen: what it costs two workers to move a fiber and what belongs to it
constexpr auto worth_moving = std::chrono::nanoseconds(500);
// chosen
constexpr auto least_gap = std::chrono::microseconds(50), most_gap = std::chrono::microseconds(800);
// chosen: about 200 us, then the worker looks for work again
constexpr std::size_t parts_at_once = 32;
constexpr int naps = 24;  // chosen: it looks for 1.2 ms, as a nap lasts twice the time asked for
// chosen: each look at the others takes a cache line from them
constexpr int relaxes_per_look = 20;

}  // namespace

control_block* idle_worker::find_work() noexcept {
    if (auto* const s = w_.owner_.simulated()) return s->find_work(w_);
    end_burst();
    if (w_.state_.seeks_better())
        if (auto* const f = take_better()) return found(f);
    for (;;) {
        w_.state_.end_drain();  // a poll in here may have begun it
        auto* const mine = look();
        if (is_surplus(mine)) [[unlikely]] {
            give_away(mine);
        } else {
            if (mine) return found(mine);
            if (w_.owner_.stopping()) return nullptr;
            in_others_way_ = lacks_cpu();
            if (may_search())
                if (auto* const f = search()) return found(f);
        }
        if (tidy()) continue;
        sleep();
    }
}

bool idle_worker::is_surplus(const control_block* f) const noexcept {
    return w_.owner_.idle().too_many_awake() && !w_.owner_.stopping() && !(f && f->is_pinned());
}

void idle_worker::give_away(control_block* f) noexcept {
    const carrier::visit inside(*this_carrier());
    if (f) w_.append(*f);
    // There may be work even without `f`: look() leaves low fibers while it seeks better ones.
    if (w_.has_work()) w_.give_all_away();
}

// Takes in what has become ready. \returns the next fiber to run, or null.
control_block* idle_worker::look() noexcept {
    const carrier::visit inside(*this_carrier());
    w_.take_in();  // found() notifies other workers of what is left
    w_.state_.seek_no_more();  // it has looked elsewhere, or will run whatever there is
    return w_.pick();
}

// The worker has low fibers only. Better ones may wait elsewhere, for a worker that is as busy.
control_block* idle_worker::take_better() noexcept {
    w_.sought_at_ = clock::now();
    only_above_low_ = true;
    auto* f = await_answer(ask_or_collect());
    if (!f) f = end_call();
    only_above_low_ = false;
    return f;
}

control_block* idle_worker::pick() noexcept {
    const carrier::visit inside(*this_carrier());
    return w_.pick();
}

control_block* idle_worker::found(control_block* f) noexcept {
    auto& s = w_.owner_;
    w_.state_.found_work();
    auto now = w_.last_poll();  // a worker that is alone has just looked
    if (s.worker_count() > 1) {
        now = clock::now();
        w_.burst_.begin(now, w_.ticks_.load(relaxed), s.is_watched());  // BURST-2
    }
    const bool hand_on = std::exchange(led_, false);
    if (auto* const first = end_call()) {
        const carrier::visit inside(*this_carrier());
        // PINNED-2: begin_with() has found that it is the turn of a fiber pinned to this carrier.
        if (first->is_pinned()) [[unlikely]] {
            this_carrier()->pinned().push(*first);
            w_.state_.give_pinned_turn();
        } else {
            w_.append(*first);
        }
        // end_call() may have given the turn to the class of `first`, but `f` runs.
        w_.turns_.give(f->priority());
        w_.note_class(*f);
    }
    // IDLE_SET-2: end_search() says whether this searcher must now look for more work.
    const bool somebody_sleeps = !w_.state_.end_search() || s.idle().end_search(s.is_watched());
    s.the_monitor().somebody_runs();  // BURST-3, IDLE_SET-8
    s.the_monitor().somebody_dispatches(now);
    if (s.worker_count() == 1) return f;
    // The worker is away for as long as a body lasts: if that is long, others must mind its timers
    // and the driver.
    const bool is_long = w_.needs_help(1);
    if (is_long && s.the_lead().oversleeps(w_.timers_.earliest())) s.io().wake();
    if ((hand_on && is_long) || (somebody_sleeps && ((is_long && s.the_lead().is_free()) || s.work_needs_help()))) s.wake_sleeper();
    return f;
}

bool idle_worker::may_search() noexcept {
    if (!w_.state_.searches() && w_.owner_.idle().begin_search()) w_.state_.begin_search();
    return w_.state_.searches();
}

control_block* idle_worker::search() noexcept {
    if (w_.alone_) return nullptr;
    auto& s = w_.owner_;
    // Owner only.
    w_.searches_.store(w_.searches_.load(relaxed) + 1, relaxed);
    const bool backs_off = clock::now() < w_.ask_again_;
    if (w_.state_.take_spin() && !in_others_way_ && !backs_off) {
        const auto end = clock::now() + spin_for;
        do {
            if (auto* const f = ask_or_collect()) return f;
            if (!s.injected().empty())
                if (auto* const f = look()) return f;
            for (int i = 0; i < relaxes_per_look; ++i) cpu_relax();
        } while (others_are_busy() && clock::now() < end);
    }
    // Looks before the first nap: the worker that woke this one may be in a long body by now.
    for (int i = 0;; ++i) {
        if (auto* const f = steal_patiently()) return f;
        if (i == naps || !others_are_busy() || s.stopping()) break;
        if ((in_others_way_ || backs_off) && !s.work_needs_help()) break;
        nap();
        if (auto* const f = look()) return f;
    }
    return end_call();
}

control_block* idle_worker::ask_or_collect() noexcept {
    auto& s = w_.owner_;
    const auto n = s.worker_count();
    if (n == 1) return nullptr;
    const auto now = clock::now();
    if (call_) return look_at_answer(now);
    const auto first = choose(n);
    for (unsigned i = 0; i < n; ++i) {
        auto& victim = s.worker_at((first + i) % n);
        if (&victim == &w_) continue;
        if (victim.timers_.earliest() <= now) {  // the victim's carrier is in a long body
            w_.state_.begin_taking_in();  // no notify() here: found() notifies
            victim.timers_.expire(now);
            w_.state_.end_taking_in();
            if (auto* const f = pick()) return f;
        }
        if (!worth_asking(victim, now)) continue;
        call_.emplace(victim.held_by()->hold());
        if (!call_->ask()) {
            call_.reset();
            continue;
        }
        asked_at_ = now;
        return nullptr;
    }
    return nullptr;
}

control_block* idle_worker::steal_patiently() noexcept {
    backed_off_ = false;
    auto* f = ask_or_collect();
    if (!f && backed_off_) {  // the victim that was left alone may be in a long body all the same
        for (const auto end = clock::now() + patience; clock::now() < end;) cpu_relax();
        f = ask_or_collect();
        if (call_) asked_at_ -= answer_in;  // the victim has had that time already
    }
    return await_answer(f);
}

// Repeats ask_or_collect(), which has found `f` or may have asked, until the victim answers or is
// overruled.
control_block* idle_worker::await_answer(control_block* f) noexcept {
    for (const auto end = clock::now() + 2 * patience; !f && call_ && clock::now() < end; f = ask_or_collect())
        for (int i = 0; i < relaxes_per_look; ++i) cpu_relax();
    return f;
}

// After a tiny theft, a victim that dispatches one fiber after the other is left alone for a time.
// A victim that does not dispatch is in a long body, and its queued fibers wait.
bool idle_worker::worth_asking(worker& victim, time_point now) noexcept {
    if (!victim.has_work()) return false;
    auto& seen = w_.seen_[victim.index()];
    const auto ticks = victim.ticks_.load(relaxed);
    if (std::exchange(seen.ticks, ticks) != ticks) seen.since = now;
    // Allows for a fiber that spawns in a loop: its worker dispatches only now and then.
    const bool moves = now - seen.since < patience;
    if (moves && !victim.needs_help()) return false;
    if (only_above_low_ && !victim.has_above_low(moves)) return false;
    if (!moves || now >= w_.ask_again_) return true;
    backed_off_ = true;
    return false;
}

control_block* idle_worker::look_at_answer(time_point now) noexcept {
    control_block* stolen[worker::fiber_queue::most_stolen];
    std::uint32_t n = 0;
    if (call_->answered()) {
        n = call_->collect(stolen);
    } else {
        if (now - asked_at_ < answer_in) return nullptr;
        asked_at_ = now;
        if (call_->overrule(stolen, n) != queue_thief<worker>::outcome::taken) return nullptr;
    }
    call_.reset();
    return take_over(stolen, n, now);
}

// A thief must end its call before it does anything else (RUN_QUEUE-3); the answer may be on its
// way.
control_block* idle_worker::end_call() noexcept {
    if (!call_) return nullptr;
    auto call = *call_;
    call_.reset();
    if (call.withdraw()) return nullptr;
    for (unsigned turns = 0; !call.answered(); ++turns) turns < 100 ? cpu_relax() : thread_yield();
    control_block* stolen[worker::fiber_queue::most_stolen];
    const auto n = call.collect(stolen);
    return take_over(stolen, n, clock::now());
}

control_block* idle_worker::take_over(control_block** stolen, std::uint32_t n, time_point now) noexcept {
    if (n == 0) return nullptr;
    w_.steals_.store(w_.steals_.load(relaxed) + n, relaxed);  // owner only
    w_.stolen_at_ = now;
    w_.stolen_ = n;
    const carrier::visit inside(*this_carrier());
    for (std::uint32_t i = 1; i < n; ++i) w_.append(*stolen[i]);  // found() notifies
    return w_.begin_with(*stolen[0]);
}

void idle_worker::end_burst() noexcept {
    if (w_.owner_.worker_count() == 1) return;
    const auto now = clock::now();
    w_.burst_.end(now, w_.ticks_.load(relaxed));
    if (w_.stolen_at_ != never) judge_last_theft(now);
}

void idle_worker::judge_last_theft(time_point now) noexcept {
    const auto lasted = now - std::exchange(w_.stolen_at_, never);
    if (lasted < tiny || lasted < w_.stolen_ * worth_moving)
        w_.gap_ = std::clamp(2 * w_.gap_, duration(least_gap), duration(most_gap));
    else
        w_.gap_ = {};
    w_.ask_again_ = now + w_.gap_;
    w_.owner_.put_thefts_off(w_.ask_again_);
}

bool idle_worker::others_are_busy() const noexcept {
    auto& s = w_.owner_;
    // Some worker is neither this one nor asleep.
    return s.idle().sleeping_count() + 1 < s.worker_count();
}

// Whether other threads want every CPU that no worker uses: fibers that compute without a worker, or
// other processes. A search would take CPU time from them, and the kernel would count it against
// this worker's share, so that the worker would come late when it is wanted
// (docs/design/handoff.md).
bool idle_worker::lacks_cpu() const noexcept {
    auto& s = w_.owner_;
    if (s.worker_count() == 1) return false;  // it does not search
    if (this_carrier()->preemptions().is_often(clock::now())) return true;
    const auto apart = s.the_monitor().computing_without_worker();
    return apart != 0 && apart + s.worker_count() - s.idle().sleeping_count() > s.the_monitor().cpus();
}

// The pause between two looks of the searcher. It counts as searching, so only work of threads
// without a worker wakes it (wake_searcher()); what a worker queues waits for the next look.
void idle_worker::nap() noexcept {
    w_.owner_.set_napper(&w_);
    fence(seq_cst);  // pairs with the fence of wake_searcher()
    // After set_napper(): a thread that pushed before has not seen the napper.
    if (w_.owner_.injected().empty() && !this_carrier()->has_pinned())
        sleep_until(clock::now() + (in_others_way_ ? long_nap : nap_for));
    w_.owner_.set_napper(nullptr);
}

// Gives back surplus memory, a part at a time. True: there is more to do, but look for work first.
// False: the worker may sleep until tidy_at_.
bool idle_worker::tidy() noexcept {
    auto& s = w_.owner_;
    const bool was_due = tidy_at_ != never;
    if (!was_due && !s.has_surplus()) return false;
    const auto now = clock::now();
    if (was_due && now < tidy_at_) return false;
    // The worker has been idle for that long. The blocks and stacks it keeps would prevent the
    // pools from freeing their neighbours.
    if (was_due) {
        this_carrier()->blocks().empty_out();
        w_.stacks_.empty_out();
    }
    tidy_at_ = s.trim(now, parts_at_once);
    return tidy_at_ <= now;
}

}  // namespace weft::detail

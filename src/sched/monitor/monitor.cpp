// monitor.cpp - the monitor's thread and its rounds, which preempt fibers.
#include "sched/monitor/monitor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/in_quotes.hpp"
#include "sched/monitor/kernel_slice.hpp"
#include "sched/new_thread.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

constexpr auto quota_pace = std::chrono::seconds(1);  // chosen: a few files are read each time
constexpr unsigned most_crowd = 8;  // chosen: with a slice of 5 ms a hog has had at least 400 us
// chosen: a worker that got a CPU for its timer has set the alarm anew by then
constexpr auto come_to_help = std::chrono::microseconds(150);
// chosen: several bursts of a hog that yields now and then
constexpr auto may_overstay = std::chrono::milliseconds(100);

using taker = tenure<worker>::taker;
using giver = tenure<worker>::giver;

}  // namespace

monitor::monitor(scheduler& owner)
    : owner_(owner),
      judge_(owner.options().time_slice, owner.options().torture_hand_offs ? judge::by::chance : judge::by::evidence),
      hogs_(owner) {}

void monitor::start() {
    seen_.resize(owner_.worker_count());
    hogs_.audit().start();
    if (owner_.options().time_slice == duration::zero()) return;
    thread_ = new_thread("weft: no thread for the monitor", [this] {
        char name[16];
        std::snprintf(name, sizeof name, "%.10s/mon", owner_.options().name.c_str());
        pthread_setname_np(pthread_self(), name);
        monitor_id_.store(::gettid(), relaxed);  // a number only
        set_slice_of(0, worker_slice);
        run();
    });
}

void monitor::stop() noexcept {
    ending_.store(true, release);  // pairs with run()
    hurry();
    if (thread_.joinable()) thread_.join();
    hogs_.stop();
}

bool monitor::ask_for_report(control_block& self) noexcept {
    // No reports are wanted.
    if (owner_.options().time_slice == duration::zero() || !owner_.options().on_hog) return true;
    if (!hogs_.ask_for(self)) return false;
    hurry();
    return true;
}

void monitor::run() noexcept {
    while (!ending_.load(acquire)) {  // pairs with stop()
        const auto next = round();
        // After the round: nothing is urgent now.
        if (std::exchange(has_news_, false) || hogs_.is_asked()) {
            hogs_.start();
            hogs_.wake();
        }
        if (owner_.demoted().is_waited_for())
            sleep_until(std::min(next, clock::now() + may_overstay));
        else if (next == never && owner_.options().on_all_asleep)
            sleep_until_quiet();
        else
            sleep_until(next);
    }
    withdraw_all();
}

time_point monitor::round() noexcept {
    ran_alone_.store(false, relaxed);
    comes_late_ = was_put_off_.exchange(false, relaxed);
    const auto now = clock::now();
    round_at_.store(now.time_since_epoch().count(), relaxed);
    const auto waits = what_waits(now);
    woken_waits_ = waits.woken;
    const bool profit = judge_.would_profit(waits, now);
    count_those_who_run();
    const bool is_crowded = computing_without_worker_.load(relaxed) != 0 && waits.next_timer != never;
    after_timer_ = is_crowded ? std::max(waits.next_timer, now) + come_to_help : never;
    auto suspect = suspicion::no;
    bool any_runs = false, any_demanded = false;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& w = owner_.worker_at(i);
        auto& seen = seen_[i];
        if (seen.demanded_from) look_again(w, seen);
        if (seen.demanded_from) continue;
        if (!w.asleep()) any_runs = true;
        if (look_at(w, seen, now, profit) == suspicion::yes) suspect = suspicion::yes;
        any_demanded |= seen.demanded_from != nullptr;
    }
    if (any_demanded) {
        heavy_fence();  // one fence for all demands
        for (unsigned i = 0; i < owner_.worker_count(); ++i)
            if (seen_[i].demanded_from) look_again(owner_.worker_at(i), seen_[i]);
    }
    for (auto& seen : seen_)
        if (seen.demanded_from) any_runs = true, suspect = suspicion::yes;
    lacks_carriers_.store(std::exchange(lacked_, false), relaxed);  // a hint
    if (owner_.options().follows_quota) follow_quota(now, std::exchange(stuck_, 0));
    serve_the_demoted(now);
    help_long_bursts(now);
    relieve_the_late(now, is_crowded);
    calm_.store(is_calm(suspect), relaxed);
    return judge_.next_look(now, any_runs, profit, suspect);
}

// Whether it is enough to look at workers that stay away from their loops. Beside hogs, and while
// demoted fibers wait, the pace of the looks decides how CPUs are shared.
bool monitor::is_calm(suspicion suspect) const noexcept {
    return suspect == suspicion::no && !judge_.is_at_random() && !has_news_ && lent_ == 0 &&
           computing_without_worker_.load(relaxed) == 0 && !owner_.demoted().is_waited_for();
}

// Looks up the quota once per quota_pace; while all workers sleep the monitor does not look, so the
// next look is due at once. A worker whose fiber is stuck and keeps it looks at no queue, although
// IDLE_SET-7 counts on the awake workers to look: another one may be awake in its place, at least
// until the next look at the quota.
void monitor::follow_quota(time_point now, unsigned stuck) noexcept {
    if (now >= look_at_quota_) {
        look_at_quota_ = now + quota_pace;
        cpus_.store(usable_cpus(), relaxed);
    } else if (stuck <= lent_) {
        return;
    }
    lent_ = stuck;
    if (owner_.idle().allow(std::min(cpus() + lent_, owner_.worker_count()))) owner_.wake_searcher();
}

// BURST-1: what a worker has kept for itself waits behind a body that is longer than it foresaw.
void monitor::help_long_bursts(time_point now) noexcept {
    if (owner_.worker_count() == 1 || owner_.idle().sleeping_count() == 0) return;
    bool any = false;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& w = owner_.worker_at(i);
        if (w.asleep() || !w.the_burst().is_too_long(now)) continue;
        any = true;
        w.the_burst().foresee_nothing();
    }
    if (!any) return;
    heavy_fence();  // BURST-2; pairs with the light fence of a worker that publishes, and with announce_sleep()
    if (some_timer_is_overslept()) owner_.io().wake();
    if (owner_.the_lead().is_free() || owner_.work_needs_help()) owner_.wake_sleeper();
}

bool monitor::some_timer_is_overslept() const noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (auto& w = owner_.worker_at(i); !w.asleep() && owner_.the_lead().oversleeps(w.timers().earliest())) return true;
    return false;
}

// Wakes a worker for each sleeper whose timer has been due for a while. If the sleeper relies on
// the leader (LEAD-3), and the leader is late or there is none, the sleeper itself is woken.
// Otherwise, beside hogs, it waits for a CPU: its thread owes time to the kernel's scheduler. A
// thread that has slept longer owes none, so its worker is woken. It looks for work at the others
// and takes the late worker's timers over.
void monitor::relieve_the_late(time_point now, bool is_crowded) noexcept {
    const auto due = now - come_to_help, put_off = due - owner_.options().timer_slack;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& w = owner_.worker_at(i);
        if (!w.asleep()) continue;
        if (w.unminded() <= put_off)
            w.wake();
        else if (is_crowded && w.timers().earliest() <= due)
            owner_.wake_another_than(w);
    }
}

void monitor::count_those_who_run() noexcept {
    unsigned running = 0, apart = 0;
    owner_.for_each_carrier([&](const carrier& c) {
        const bool runs = c.current() != nullptr;
        running += runs;
        apart += runs && c.has_long_kernel_slice();
    });
    crowd_ = std::clamp((running + cpus() - 1) / cpus(), 1u, most_crowd);
    computing_without_worker_.store(apart, relaxed);  // a hint
}

waiting monitor::what_waits(time_point now) const noexcept {
    waiting w{.queued = owner_.work_is_queued() || owner_.somebody_may_be_sent_on(), .io = owner_.the_lead().is_free()};
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& worker = owner_.worker_at(i);
        const auto timer = worker.timers().earliest();
        w.next_timer = std::min(w.next_timer, timer);
        w.woken |= worker.delays_woken() || (timer <= now && !worker.asleep());
    }
    return w;
}

suspicion monitor::look_at(worker& w, watched& seen, time_point now, bool profit) noexcept {
    auto& holder = *w.held_by();
    const auto* const fiber = holder.seen_current();
    const auto probe = holder.probe();
    const auto cpu = fiber ? probe.cpu() : std::nullopt;
    w.poll_soon();
    const sighting s{.when = now,
                     .carrier = &holder,
                     .dispatches = w.dispatches(),
                     .cpu = cpu.value_or(duration::zero()),
                     .spawned = holder.born(),
                     .crowd = crowd_,
                     .delays_woken = woken_waits_,
                     .runs_fiber = fiber != nullptr && cpu};
    const auto what = judge_.look(seen.eye, s, probe, profit);
    if (what == verdict::keeps_worker) return profit && is_first_seen_late(w, s, seen) ? suspicion::yes : suspicion::no;
    if (fiber->keeps_worker.load(relaxed)) {
        if (what != verdict::suspect) ++stuck_;
        return suspicion::no;
    }
    if (what == verdict::suspect) return suspicion::yes;
    seen.dispatches = s.dispatches;
    demand(w, seen, holder, what == verdict::computes ? cause_of_loss::computing : cause_of_loss::blocked);
    return suspicion::yes;
}

// Whether a fiber is new to the monitor, but would have been seen earlier if the look had not been
// put off.
bool monitor::is_first_seen_late(const worker& w, const sighting& s, const watched& seen) const noexcept {
    return comes_late_ && s.runs_fiber && seen.eye.since() == s.when && s.when - w.last_poll() > put_off::pace - put_off::before;
}

// \returns a carrier that the caller grants a worker, summons or puts back; null: there is none,
// which the first time is printed.
carrier* monitor::take_spare() noexcept {
    const char* why_not = nullptr;
    auto* const spare = owner_.spares().take(why_not);
    if (!spare && !std::exchange(says_no_more_, true)) {
        const printable_text name(owner_.options().name);
        std::fprintf(
            stderr,
            "weft: runtime \"%.*s\" keeps fibers waiting behind others that compute or block: it has %u carriers, and %s\n",
            static_cast<int>(name.view().size()), name.view().data(), owner_.carrier_count(), why_not);
    }
    return spare;
}

void monitor::demand(worker& w, watched& seen, carrier& holder, cause_of_loss why) noexcept {
    auto* const heir = take_spare();  // MONITOR-2
    if (!heir) {
        has_news_ = lacked_ = true;
        ++stuck_;
        return;
    }
    holder.note_alone_since(seen.eye.since());
    if (why == cause_of_loss::blocked && hogs_.audit().is_on())
        hogs_.audit().is_about_to_take(number_of(seen), holder, seen.eye.still_since());
    const worker* const demanded = taker(holder.hold()).demand(why);
    require(!demanded || demanded == &w, "MONITOR-1: a carrier has the worker that the monitor has given it");
    if (!demanded) {  // a thief's call stands
        owner_.spares().put_back(*heir);
        return;
    }
    seen.demanded_from = &holder;
    seen.heir = heir;
    seen.why = why;
    if (why == cause_of_loss::computing) {
        holder.note_long_kernel_slice(true);
        set_slice_of(holder.probe().id(), hog_slice);
    }
}

void monitor::look_again(worker& w, watched& seen) noexcept {
    taker mine(seen.demanded_from->hold());
    if (w.dispatches() != seen.dispatches || !seen.demanded_from->current()) return settle(w, seen, mine.withdraw());
    const auto how = mine.look([&] { return seen.demanded_from->current() != nullptr && w.dispatches() == seen.dispatches; });
    if (how != taker::outcome::standing) settle(w, seen, how);
}

void monitor::settle(worker& w, watched& seen, taker::outcome how) noexcept {
    if (how == taker::outcome::taken) {
        has_news_ = true;
        // These counts are written by the monitor only.
        taken_.store(taken_.load(relaxed) + 1, relaxed);
        if (seen.why == cause_of_loss::blocked) {
            blocked_.store(blocked_.load(relaxed) + 1, relaxed);
            if (hogs_.audit().is_on()) hogs_.audit().has_taken(number_of(seen));
        }
        w.be_held_by(*seen.heir);
        giver(seen.heir->hold()).grant(w);
        if (owner_.tortures()) owner_.send_on_from(*seen.demanded_from);
        if (seen.why == cause_of_loss::computing) owner_.spares().make_nice(*seen.demanded_from);
    } else {
        if (seen.why == cause_of_loss::computing) {
            seen.demanded_from->note_long_kernel_slice(false);
            set_slice_of(seen.demanded_from->probe().id(), worker_slice);
        }
        owner_.spares().put_back(*seen.heir);
    }
    seen.demanded_from = seen.heir = nullptr;
}

void monitor::withdraw_all() noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (seen_[i].demanded_from) settle(owner_.worker_at(i), seen_[i], taker(seen_[i].demanded_from->hold()).withdraw());
}

void monitor::serve_the_demoted(time_point now) noexcept {
    auto& demoted = owner_.demoted();
    owner_.for_each_carrier([&](carrier& c) {
        if (!c.vacate_place_since(now - may_overstay)) return;
        demoted.give_back_place();
        owner_.spares().make_nice(c);
    });
    for (auto n = demoted.takers_needed(); n > 0; --n) {
        if (auto* const spare = take_spare()) {
            giver(spare->hold()).summon();
        } else {
            owner_.promote_one();  // no thread is left for it but those that have workers
            return;
        }
    }
}

}  // namespace weft::detail

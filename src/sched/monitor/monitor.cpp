// monitor.cpp - the monitor's rounds, which preempt fibers, and the carriers it keeps as spares.
#include "sched/monitor/monitor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/in_quotes.hpp"
#include "sched/monitor/slice.hpp"
#include "sched/new_thread.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// chosen: a second; starting a thread costs 32 us, keeping one costs its stack
constexpr int slices_to_wait = 200;
constexpr duration usual_wait = std::chrono::seconds(1);  // chosen: used where there are no slices
constexpr auto quota_pace = std::chrono::seconds(1);  // chosen: a few files are read each time
constexpr unsigned most_crowd = 8;  // chosen: with a slice of 5 ms a hog has had at least 400 us
// chosen: a worker that got a CPU for its timer has set the alarm anew by then
constexpr auto come_to_help = std::chrono::microseconds(150);
// chosen: several bursts of a hog that yields now and then
constexpr auto may_overstay = std::chrono::milliseconds(100);

using taker = tenure<worker>::taker;
using giver = tenure<worker>::giver;

}  // namespace

void monitor::start() {
    seen_.resize(owner_.worker_count());
    for (auto* const list : {&spares_, &without_thread_})
        list->reserve(std::max(owner_.options().max_carriers, owner_.worker_count()));
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
    ending_.store(true, release);
    hurry();
    if (thread_.joinable()) thread_.join();
    hogs_.stop();
    std::vector<carrier*> waiting;
    {
        const std::lock_guard guard(lock_);
        is_over_ = true;  // MONITOR-3
        waiting.swap(spares_);
    }
    for (auto* const c : waiting) giver(c->hold()).dismiss();
}

// ---- carriers

bool monitor::await_worker(carrier& c) noexcept {
    using awaited = tenure<worker>::holder::awaited;
    if (cannot_be_as_others(c)) {
        c.blocks().empty_out();
        return false;
    }
    bool has_work;
    {
        const std::lock_guard guard(lock_);
        if (is_over_) return false;
        // Pushed by a thread that has not found it in spares_ (PINNED-3).
        has_work = c.has_pinned();
        if (!has_work) spares_.push_back(&c);
    }
    if (has_work) {
        thread_yield();  // INJECTOR-2: the fiber may be about to come
        return true;
    }
    const auto slice = owner_.options().time_slice;
    const auto patience = slice == duration::zero() ? usual_wait : slices_to_wait * slice;
    for (;;) {
        const auto until = clock::now() + patience;
        const auto how = tenure<worker>::holder(c.hold()).await_grant(until.time_since_epoch().count());
        if (how != awaited::nothing) return how != awaited::dismissed;
        if (is_given_up(c)) break;
    }
    c.blocks().empty_out();
    return false;
}

// MONITOR-4. As many spares as there are workers stay, so that no thread need be started when the
// next fiber is preempted.
bool monitor::is_given_up(carrier& c) noexcept {
    const std::lock_guard guard(lock_);
    const auto mine = std::find(spares_.begin(), spares_.end(), &c);
    // It was taken, and will be granted, summoned or dismissed.
    if (mine == spares_.end()) return false;
    if (c.is_reserved() || c.has_pinned_fibers()) return false;
    if (!c.is_nice() && spares_.size() <= owner_.worker_count()) return false;
    spares_.erase(mine);
    give_up(c);
    return true;
}

// Called under lock_.
void monitor::give_up(carrier& c) noexcept {
    without_thread_.push_back(&c);
    without_thread_count_.store(without_thread_.size(), relaxed);
}

carrier* monitor::take_spare() noexcept {
    auto* const spare = take_idle_spare(fit::for_workers);
    return spare ? spare : start_another();
}

carrier* monitor::take_idle_spare(fit what) noexcept {
    const std::lock_guard guard(lock_);
    const auto last = std::find_if(spares_.rbegin(), spares_.rend(), [&](const carrier* c) {
        return !c->is_reserved() && !c->is_nice() && (what == fit::for_workers || !c->has_pinned_fibers());
    });
    if (last == spares_.rend()) return nullptr;
    auto* const spare = *last;  // the last to register has the warmest cache
    spares_.erase(std::next(last).base());
    return spare;
}

// \returns a carrier whose thread is to be started, or null. While more carriers may be made, it
// takes only one whose thread has fully ended, so that start_thread() need not wait for it: the
// destructors of a program's thread_local objects may take long.
carrier* monitor::take_without_thread() {
    // Made under making_ only.
    const bool may_be_more = owner_.carrier_count() < owner_.options().max_carriers;
    {
        const std::lock_guard guard(lock_);
        auto which =
            std::find_if(without_thread_.begin(), without_thread_.end(), [](const carrier* c) { return c->has_no_thread(); });
        if (which == without_thread_.end() && !may_be_more) which = without_thread_.begin();
        if (which != without_thread_.end()) {
            auto* const c = *which;
            without_thread_.erase(which);
            without_thread_count_.store(without_thread_.size(), relaxed);
            return c;
        }
    }
    return may_be_more ? &owner_.new_carrier(nullptr) : nullptr;
}

// \returns a carrier with a new thread, or null. It is not in spares_: the caller grants it a
// worker, summons it or puts it back.
carrier* monitor::start_another() noexcept {
    const char* what = nullptr;
    if (auto* const made = make_carrier(what)) return made;
    if (std::exchange(says_no_more_, true)) return nullptr;
    const printable_text name(owner_.options().name);
    std::fprintf(stderr,
                 "weft: runtime \"%.*s\" keeps fibers waiting behind others that compute or block: it has %u carriers, and %s\n",
                 static_cast<int>(name.view().size()), name.view().data(), owner_.carrier_count(), what);
    return nullptr;
}

carrier* monitor::make_carrier(const char*& why_not) noexcept {
    const std::lock_guard guard(making_);
    why_not = "max_carriers are in use";
    try {
        if (!unstarted_) unstarted_ = take_without_thread();
        if (!unstarted_) return nullptr;
        unstarted_->start_thread();
        return std::exchange(unstarted_, nullptr);
    } catch (const std::bad_alloc&) {
        why_not = "no memory for one";
    } catch (const std::system_error&) {
        why_not = "the system refuses another thread";
    }
    return nullptr;
}

void monitor::put_back(carrier& spare) noexcept {
    const std::lock_guard guard(lock_);
    if (spare.has_pinned())  // pushed by a thread that has not found it in spares_ (PINNED-3)
        giver(spare.hold()).summon();
    else
        spares_.push_back(&spare);
}

carrier* monitor::find_unreserved(const char*& why_not) noexcept {
    auto* c = take_idle_spare(fit::to_be_reserved);
    if (c) {
        c->reserve(true);
        if (c->has_pinned_fibers()) {
            c->reserve(false);
            put_back(*std::exchange(c, nullptr));
        }
    }
    if (!c) c = make_carrier(why_not);
    return c;
}

carrier& monitor::reserve_carrier() {
    const char* why_not = nullptr;
    carrier* c = nullptr;
    // chosen: a carrier whose fiber has just ended may be on its way home
    for (int tries = 0; !c && tries < 100; ++tries) {
        if (tries > 0) thread_yield();
        c = find_unreserved(why_not);
    }
    if (!c)
        throw std::system_error(EAGAIN, std::generic_category(),
                                "weft: no carrier for a fiber alone (migrate::own_carrier): " + std::string(why_not));
    c->reserve(true);
    put_back(*c);
    return *c;
}

void monitor::summon(carrier& c) noexcept {
    {
        const std::lock_guard guard(lock_);
        if (std::erase(spares_, &c) == 0) return;
    }
    giver(c.hold()).summon();
}

bool monitor::ask_for_report(control_block& self) noexcept {
    // No reports are wanted.
    if (owner_.options().time_slice == duration::zero() || !owner_.options().on_hog) return true;
    if (!hogs_.ask_for(self)) return false;
    hurry();
    return true;
}

// ---- the monitor

void monitor::run() noexcept {
    while (!ending_.load(acquire)) {
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
    const auto now = clock::now();
    const auto waits = what_waits();
    const bool profit = judge_.would_profit(waits, now);
    count_those_who_run();
    const bool is_crowded = computing_without_worker_.load(relaxed) != 0 && waits.next_timer != never;
    after_timer_ = is_crowded ? std::max(waits.next_timer, now) + come_to_help : never;
    auto suspect = suspicion::no;
    bool any_runs = false, any_demanded = false;
    for (unsigned i = 0; i < owner_.worker_count(); ++i) {
        auto& w = owner_.worker_at(i);
        auto& seen = seen_[i];
        if (seen.holder) look_again(w, seen);
        if (seen.holder) continue;
        if (!w.asleep()) any_runs = true;
        if (look_at(w, seen, now, profit) == suspicion::yes) suspect = suspicion::yes;
        any_demanded |= seen.holder != nullptr;
    }
    if (any_demanded) {
        heavy_fence();  // one fence for all demands
        for (unsigned i = 0; i < owner_.worker_count(); ++i)
            if (seen_[i].holder) look_again(owner_.worker_at(i), seen_[i]);
    }
    for (auto& seen : seen_)
        if (seen.holder) any_runs = true, suspect = suspicion::yes;
    lacks_carriers_.store(std::exchange(lacked_, false), relaxed);  // a hint
    if (owner_.options().follows_quota) follow_quota(now, std::exchange(stuck_, 0));
    serve_the_demoted(now);
    return judge_.next_look(now, any_runs, profit, suspect);
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

void monitor::count_those_who_run() noexcept {
    unsigned running = 0, apart = 0;
    owner_.for_each_carrier([&](const carrier& c) {
        const bool runs = c.current() != nullptr;
        running += runs;
        apart += runs && c.has_long_slice();
    });
    crowd_ = std::clamp((running + cpus() - 1) / cpus(), 1u, most_crowd);
    computing_without_worker_.store(apart, relaxed);  // a hint
}

waiting monitor::what_waits() const noexcept {
    waiting w{.queued = owner_.work_is_queued() || owner_.somebody_may_be_sent_on(), .io = owner_.nobody_leads()};
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        w.next_timer = std::min(w.next_timer, owner_.worker_at(i).timers().earliest());
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
                     .runs_fiber = fiber != nullptr && cpu};
    const auto what = judge_.look(seen.eye, s, probe, profit);
    if (what == verdict::leave) return suspicion::no;
    if (fiber->keeps_worker.load(relaxed)) {
        if (what != verdict::suspect) ++stuck_;
        return suspicion::no;
    }
    if (what == verdict::suspect) return suspicion::yes;
    seen.dispatches = s.dispatches;
    demand(w, seen, holder, what == verdict::computes ? cause_of_loss::computing : cause_of_loss::blocked);
    return suspicion::yes;
}

void monitor::demand(worker& w, watched& seen, carrier& holder, cause_of_loss why) noexcept {
    auto* const next = take_spare();  // MONITOR-2
    if (!next) {
        has_news_ = lacked_ = true;
        ++stuck_;
        return;
    }
    holder.note_alone_since(seen.eye.since());
    const worker* const demanded = taker(holder.hold()).demand(why);
    require(!demanded || demanded == &w, "MONITOR-1: a carrier has the worker that the monitor has given it");
    if (!demanded) {  // a thief's call stands
        put_back(*next);
        return;
    }
    seen.holder = &holder;
    seen.next = next;
    seen.why = why;
    if (why == cause_of_loss::computing) {
        holder.note_long_slice(true);
        set_slice_of(holder.probe().id(), hog_slice);
    }
}

void monitor::look_again(worker& w, watched& seen) noexcept {
    taker mine(seen.holder->hold());
    if (w.dispatches() != seen.dispatches || !seen.holder->current()) return settle(w, seen, mine.withdraw());
    const auto how = mine.look([&] { return seen.holder->current() != nullptr && w.dispatches() == seen.dispatches; });
    if (how != taker::outcome::standing) settle(w, seen, how);
}

void monitor::settle(worker& w, watched& seen, taker::outcome how) noexcept {
    if (how == taker::outcome::taken) {
        has_news_ = true;
        // These counts are written by the monitor only.
        taken_.store(taken_.load(relaxed) + 1, relaxed);
        if (seen.why == cause_of_loss::blocked) blocked_.store(blocked_.load(relaxed) + 1, relaxed);
        w.be_held_by(*seen.next);
        giver(seen.next->hold()).grant(w);
        if (owner_.tortures()) owner_.send_on_from(*seen.holder);
        if (seen.why == cause_of_loss::computing) make_nice(*seen.holder);
    } else {
        if (seen.why == cause_of_loss::computing) {
            seen.holder->note_long_slice(false);
            set_slice_of(seen.holder->probe().id(), worker_slice);
        }
        put_back(*seen.next);
    }
    seen.holder = seen.next = nullptr;
}

void monitor::withdraw_all() noexcept {
    for (unsigned i = 0; i < owner_.worker_count(); ++i)
        if (seen_[i].holder) settle(owner_.worker_at(i), seen_[i], taker(seen_[i].holder->hold()).withdraw());
}

void monitor::serve_the_demoted(time_point now) noexcept {
    auto& demoted = owner_.demoted();
    owner_.for_each_carrier([&](carrier& c) {
        if (!c.vacate_place_since(now - may_overstay)) return;
        demoted.give_back_place();
        make_nice(c);
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

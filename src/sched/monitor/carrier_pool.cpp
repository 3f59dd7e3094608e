// carrier_pool.cpp - how carriers register as spares, and how they are taken, reserved and made.
#include "sched/monitor/carrier_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// chosen: a second; starting a thread costs 32 us, keeping one costs its stack
constexpr int slices_to_wait = 200;
constexpr duration usual_wait = std::chrono::seconds(1);  // chosen: used where there are no slices

using giver = tenure<worker>::giver;

}  // namespace

carrier_pool::carrier_pool(scheduler& owner, std::size_t room, int hog_nice) : owner_(owner), hog_nice_(hog_nice) {
    for (auto* const list : {&spares_, &without_thread_}) list->reserve(room);
}

void carrier_pool::dismiss_all() noexcept {
    std::vector<carrier*> waiting;
    {
        const lock_guard guard(lock_);
        is_over_ = true;  // CARRIER_POOL-2
        waiting.swap(spares_);
    }
    for (auto* const c : waiting) giver(c->hold()).dismiss();
}

// ---- a carrier waits, and its thread ends

bool carrier_pool::await_worker(carrier& c) noexcept {
    using awaited = tenure<worker>::holder::awaited;
    if (cannot_be_as_others(c)) {
        c.blocks().empty_out();
        return false;
    }
    bool has_work;
    {
        const lock_guard guard(lock_);
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

// CARRIER_POOL-3. As many spares as there are workers stay, so that no thread need be started when
// the next fiber is preempted.
bool carrier_pool::is_given_up(carrier& c) noexcept {
    const lock_guard guard(lock_);
    const auto mine = std::find(spares_.begin(), spares_.end(), &c);
    // It was taken, and will be granted, summoned or dismissed.
    if (mine == spares_.end()) return false;
    if (c.is_reserved() || c.has_pinned_fibers()) return false;
    if (!c.is_nice() && spares_.size() <= owner_.worker_count()) return false;
    spares_.erase(mine);
    give_up(c);
    return true;
}

void carrier_pool::give_up(carrier& c) noexcept {
    without_thread_.push_back(&c);
    without_thread_count_.store(without_thread_.size(), relaxed);
}

// ---- taken, put back, summoned

carrier* carrier_pool::take(const char*& why_not) noexcept {
    auto* const spare = take_idle(fit::for_workers);
    return spare ? spare : start_another(why_not);
}

carrier* carrier_pool::take_idle(fit what) noexcept {
    const lock_guard guard(lock_);
    const auto last = std::find_if(spares_.rbegin(), spares_.rend(), [&](const carrier* c) {
        return !c->is_reserved() && !c->is_nice() && (what == fit::for_workers || !c->has_pinned_fibers());
    });
    if (last == spares_.rend()) return nullptr;
    auto* const spare = *last;  // the last to register has the warmest cache
    spares_.erase(std::next(last).base());
    return spare;
}

void carrier_pool::put_back(carrier& spare) noexcept {
    const lock_guard guard(lock_);
    if (spare.has_pinned())  // pushed by a thread that has not found it in spares_ (PINNED-3)
        giver(spare.hold()).summon();
    else
        spares_.push_back(&spare);
}

void carrier_pool::summon(carrier& c) noexcept {
    {
        const lock_guard guard(lock_);
        if (std::erase(spares_, &c) == 0) return;
    }
    giver(c.hold()).summon();
}

// ---- reserved

carrier& carrier_pool::reserve() {
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

carrier* carrier_pool::find_unreserved(const char*& why_not) noexcept {
    auto* c = take_idle(fit::to_be_reserved);
    if (c) {
        c->reserve(true);
        if (c->has_pinned_fibers()) {
            c->reserve(false);
            put_back(*std::exchange(c, nullptr));
        }
    }
    if (!c) c = start_another(why_not);
    return c;
}

// ---- made

// \returns a carrier with a new thread, or null. It is not in spares_: the caller grants it a
// worker, summons it or puts it back.
carrier* carrier_pool::start_another(const char*& why_not) noexcept {
    const lock_guard guard(making_);
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

// \returns a carrier whose thread is to be started, or null. While more carriers may be made, it
// takes only one whose thread has fully ended, so that start_thread() need not wait for it: the
// destructors of a program's thread_local objects may take long.
carrier* carrier_pool::take_without_thread() {
    // Carriers are made under making_ only.
    const bool may_be_more = owner_.carrier_count() < owner_.options().max_carriers;
    {
        const lock_guard guard(lock_);
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

}  // namespace weft::detail

// supervisor_run.cpp - what a supervisor's own fiber does: it handles ends, restarts and stops.
#include <algorithm>

#include <weft/fiber.hpp>
#include <weft/no_limit.hpp>
#include <weft/stop.hpp>

#include "actor/supervisor_core.hpp"
#include "fiber/hook.hpp"
#include "sched/scheduler.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

exit_kind end_of(supervisor_core::end_by how) noexcept {
    switch (how) {
        case supervisor_core::end_by::kill: return exit_kind::killed;
        case supervisor_core::end_by::stop: return exit_kind::stopped;
        default: return exit_kind::normal;
    }
}

}  // namespace

void supervisor_core::run() noexcept {
    exit_reason why;
    {
        lock_type lock(mutex_);
        try {
            why = supervise(lock);
        } catch (const cancelled&) {  // the runtime stops
            why.kind = exit_kind::killed;
        } catch (...) {
            why = {.kind = exit_kind::failed, .failure = std::current_exception()};
        }
        if (!lock.owns_lock()) lock.lock();
        const shield uninterrupted;
        state_ = state::stopping;
        why_ = why;
        has_given_up_ = why.kind == exit_kind::failed;
        stop_from(0, lock);
        // SUPERVISOR_CORE-5
        if (why.kind == exit_kind::normal) why_.kind = why.kind = end_of(asked_);
        if (as_child_) state_ = state::idle;
    }
    const shield uninterrupted;
    break_links(*this, why);
    if (const auto me = as_child_)
        // This supervisor may begin again at once, so nothing of this run may follow.
        me->owner->child_ended(*me, std::move(why));
    else
        end(std::move(why));
}

/// \returns  why the supervisor must end.
exit_reason supervisor_core::supervise(lock_type& lock) {
    forget_temporary(0, lock);
    start_from(0, lock);
    for (;;) {
        changed_.wait(lock, [&] { return asked_ != end_by::nothing || link_failure_ || next_event(); });
        if (asked_ != end_by::nothing) return {.kind = end_of(asked_)};
        if (link_failure_) return {.kind = exit_kind::failed, .failure = link_failure_};
        if (where_->all_are_stopped()) throw cancelled();  // children end for this reason too
        if (auto failure = deal_with(next_event(), lock)) return {.kind = exit_kind::failed, .failure = std::move(failure)};
    }
}

/// The first child that needs attention, or null.
supervisor_core::child_ptr supervisor_core::next_event() const noexcept {
    const auto at =
        std::ranges::find_if(children_, [](const child_ptr& c) { return c->now == child::phase::over || c->is_to_go; });
    return at == children_.end() ? nullptr : *at;
}

/// \returns  a failure if the restart would exceed the limit.
std::exception_ptr supervisor_core::deal_with(const child_ptr& c, lock_type& lock) {
    if (c->is_to_go) {
        stop_one(c, lock);
        remove(c, {.kind = exit_kind::stopped}, lock);
        return nullptr;
    }
    const auto why = c->last_end;
    const bool restarts = c->keep == child_kind::permanent || (c->keep == child_kind::transient && why.abnormal());
    const bool too_often = restarts && is_over_limit();
    report(*c, restarts && !too_often, lock);
    if (too_often) return limit_failure(*c);
    if (restarts)
        restart_after(c, lock);
    else
        remove(c, why, lock);
    return nullptr;
}

void supervisor_core::report(const child& c, bool restarts, lock_type& lock) {
    if (!on_end_) return;
    const auto why = c.last_end;
    lock.unlock();
    call_hook("on_end", [&] { on_end_({.supervisor = name_, .child = c.name, .reason = why, .restarts = restarts}); });
    lock.lock();
}

void supervisor_core::restart_after(const child_ptr& c, lock_type& lock) {
    ++restarts_;
    if (strategy_ == restart::one_for_one) return start_one(c, lock);
    const auto first = strategy_ == restart::one_for_all ? 0 : index_of(*c);
    stop_from(first, lock);
    forget_temporary(first, lock);
    start_from(first, lock);
}

/// Removes temporary children that were stopped; they do not live again.
void supervisor_core::forget_temporary(std::size_t first, lock_type& lock) {
    for (const auto& c : std::vector(children_.begin() + static_cast<std::ptrdiff_t>(first), children_.end()))
        if (c->keep == child_kind::temporary && c->has_lived && c->now == child::phase::down)
            remove(c, {.kind = exit_kind::stopped}, lock);
}

void supervisor_core::start_one(const child_ptr& c, lock_type& lock) {
    c->now = child::phase::running;
    c->has_lived = true;
    lock.unlock();
    try {
        if (!start_when_there_is_room(*c)) child_ended(*c, {.kind = exit_kind::stopped});
    } catch (const cancelled&) {
        child_ended(*c, {.kind = exit_kind::killed});
        lock.lock();
        throw;
    } catch (...) {
        child_ended(*c, {.kind = exit_kind::failed, .failure = std::current_exception()});
    }
    lock.lock();
}

/// Implements rule 6 of supervisor.hpp. \returns false if the supervisor is asked to stop first
bool supervisor_core::start_when_there_is_room(child& c) {
    // Replaced only by begin(), before this fiber exists.
    const auto unless = stop_source_.get_token();
    do {
        try {
            c.start(*where_);
            return true;
        } catch (const no_place&) {}
    } while (await_place(*where_, unless));
    return false;
}

void supervisor_core::start_from(std::size_t first, lock_type& lock) {
    for (auto i = first; i < children_.size(); ++i)  // SUPERVISOR_CORE-2: other callers only append
        if (const auto c = children_[i]; c->now == child::phase::down && !c->is_to_go) start_one(c, lock);
}

/// Ends a child; afterwards it is down.
void supervisor_core::stop_one(const child_ptr& c, lock_type& lock) {
    changed_.wait(lock, [&] { return !c->is_starting; });
    if (asked_ == end_by::close && !c->is_to_go) drain(*c, lock);
    if (c->now == child::phase::running) stop_in_time(*c, lock);
    c->now = child::phase::down;
}

/// Lets a child handle what it has accepted, unless the supervisor is asked for more than that.
void supervisor_core::drain(child& c, lock_type& lock) {
    if (c.now == child::phase::running) {
        lock.unlock();
        c.close();
        lock.lock();
        changed_.wait(lock, [&] { return c.now != child::phase::running || asked_ != end_by::close; });
    }
    if (c.now == child::phase::over && c.last_end.abnormal()) report(c, false, lock);
}

void supervisor_core::stop_in_time(child& c, lock_type& lock) {
    const auto until = deadline_after(c.shutdown);
    const bool at_once = asked_ == end_by::kill;
    const auto has_ended = [&] { return c.now != child::phase::running; };
    lock.unlock();
    at_once ? c.kill() : c.stop();
    lock.lock();
    changed_.wait_until(lock, until, [&] { return has_ended() || asked_ == end_by::kill; });
    if (has_ended()) return;
    lock.unlock();
    c.kill();
    lock.lock();
    changed_.wait(lock, has_ended);
}

void supervisor_core::stop_from(std::size_t first, lock_type& lock) {
    // SUPERVISOR_CORE-2: other callers only append, which may move the pointers; so each is copied.
    for (auto i = children_.size(); i-- > first;)
        if (const auto c = children_[i]; !c->is_starting) stop_one(c, lock);
    // These may have waited for the places of the others.
    for (auto i = first; i < children_.size(); ++i) {
        const auto c = children_[i];
        stop_one(c, lock);
    }
}

void supervisor_core::remove(const child_ptr& c, exit_reason why, lock_type& lock) noexcept {
    const auto kept = c;
    std::erase(children_, kept);
    lock.unlock();
    kept->end(std::move(why));
    lock.lock();
}

bool supervisor_core::is_over_limit() {
    // Nothing is compared with the times then, and for a long `within` their list would only grow.
    if (max_restarts_ == no_limit) return false;
    const auto now = clock::now();
    while (!recent_restarts_.empty() && now - recent_restarts_.front() > within_) recent_restarts_.pop_front();
    if (recent_restarts_.size() >= max_restarts_) return true;
    recent_restarts_.push_back(now);
    return false;
}

std::exception_ptr supervisor_core::limit_failure(const child& c) const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(within_).count();
    return std::make_exception_ptr(restart_limit("weft: supervisor \"" + name_ + "\" gives up: more than " +
                                                 std::to_string(max_restarts_) + " restarts in " + std::to_string(ms) +
                                                 " ms; at last child \"" + c.name + "\" " + c.last_end.what()));
}

std::size_t supervisor_core::index_of(const child& c) const noexcept {
    const auto at = std::ranges::find_if(children_, [&](const child_ptr& x) { return x.get() == &c; });
    return static_cast<std::size_t>(at - children_.begin());
}

}  // namespace weft::detail

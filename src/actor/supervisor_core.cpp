#include "actor/supervisor_core.hpp"

#include <algorithm>
#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "sched/scheduler.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {

child::child(std::shared_ptr<supervisor_core> its_owner, const child_attributes& a)
    : owner(std::move(its_owner)), name(a.name), keep(a.keep), shutdown(a.shutdown) {}

supervisor_core::supervisor_core(const supervisor_options& o)
    : name_(o.name), strategy_(o.strategy), max_restarts_(o.max_restarts), within_(o.within), on_end_(o.on_end) {
    if (o.within <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: supervisor_options::within must be positive");
}

// For any thread.

void supervisor_core::begin(scheduler& where) {
    {
        const lock_type lock(mutex_);
        where_ = &where;
        state_ = state::running;
        stop_asked_ = die_asked_ = has_given_up_ = false;
        stop_source_ = std::stop_source();
        recent_restarts_.clear();
    }
    const std::string name = "supervisor " + name_;
    start_fiber<start_as::detached>(where, never_inline(where, {.name = name, .site = {}}),
                [self = shared_from_this()] { self->run(); });
}

void supervisor_core::add(child_ptr c) {
    lock_type lock(mutex_);
    if (state_ == state::stopping || state_ == state::ended) throw actor_gone(name_, why_);
    children_.push_back(c);
    if (state_ == state::idle) return;
    c->now = child::phase::running;  // so that the supervisor's fiber does not start it too
    c->has_lived = c->is_starting = true;
    auto& where = *where_;
    lock.unlock();
    const auto started = [&] {
        lock.lock();
        c->is_starting = false;
        changed_.notify_all();
    };
    try {
        c->start(where);
    } catch (...) {
        started();
        c->is_to_go = true;
        c->now = child::phase::over;  // SUPERVISOR_CORE-3
        throw;
    }
    started();
}

void supervisor_core::become_child(std::shared_ptr<child> c) {
    const lock_type lock(mutex_);
    as_child_.swap(c);
}

bool supervisor_core::dismiss(const void* core) noexcept {
    const lock_type lock(mutex_);
    const auto at = std::ranges::find_if(children_, [&](const child_ptr& c) { return c->is(core); });
    if (at == children_.end()) return false;
    (*at)->is_to_go = true;
    changed_.notify_all();
    return true;
}

void supervisor_core::ask_to(end_by how) noexcept {
    std::stop_source source(std::nostopstate);
    {
        const lock_type lock(mutex_);
        stop_asked_ = true;
        die_asked_ = die_asked_ || how == end_by::kill;
        source = stop_source_;
        changed_.notify_all();
    }
    source.request_stop();
}

void supervisor_core::join() noexcept {
    const shield uninterrupted;
    ask_to(end_by::stop);
    lock_type lock(mutex_);
    changed_.wait(lock, [&] { return state_ == state::ended; });
}

void supervisor_core::end(exit_reason why) noexcept {
    std::vector<child_ptr> children;
    std::vector<channel_ref> monitors;
    const auto self = shared_from_this();  // SUPERVISOR_CORE-4
    child_ptr as_child;
    bool is_heard;
    {
        const lock_type lock(mutex_);
        if (state_ == state::ended) return;
        why_ = why;
        state_ = state::stopping;  // no more children are accepted
        children.swap(children_);
        as_child.swap(as_child_);
        is_heard = as_child || std::ranges::any_of(monitors_, [](const channel_ref& m) { return !channel_is_closed(m.core()); });
    }
    for (const auto& c : children) c->end(why);
    if (auto* const f = this_fiber_block(); f && why.kind == exit_kind::failed && !is_heard)
        f->owner->report_unhandled(*f, why.failure);
    {
        const lock_type lock(mutex_);
        // Stored before anything is told, so that a caller that comes later sees it.
        state_ = state::ended;
        monitors.swap(monitors_);
        changed_.notify_all();
    }
    for (const auto& m : monitors) {
        auto copy = why;
        channel_try_send(m.core(), &copy);
        channel_close(m.core());
    }
}

void supervisor_core::child_ended(child& c, exit_reason why) noexcept {
    const lock_type lock(mutex_);
    c.now = child::phase::over;
    c.last_end = std::move(why);
    changed_.notify_all();
}

bool supervisor_core::has_failed() const noexcept {
    const lock_type lock(mutex_);
    return state_ == state::ended && has_given_up_;
}

std::size_t supervisor_core::size() const noexcept {
    const lock_type lock(mutex_);
    return children_.size();
}

std::size_t supervisor_core::restarts() const noexcept {
    const lock_type lock(mutex_);
    return restarts_;
}

receiver<exit_reason> supervisor_core::monitor() {
    channel_ref made(make_channel(typed_element<exit_reason>::operations, 1));
    keep_channel(made.core());
    receiver<exit_reason> rx(made);
    const lock_type lock(mutex_);
    std::erase_if(monitors_, [](const channel_ref& m) { return channel_is_closed(m.core()); });
    if (state_ != state::ended) {
        monitors_.push_back(std::move(made));
    } else {
        auto copy = why_;
        channel_try_send(made.core(), &copy);
        channel_close(made.core());
    }
    return rx;
}

// For its fiber.

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
        if (as_child_) state_ = state::idle;
    }
    const shield uninterrupted;
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
        changed_.wait(lock, [&] { return stop_asked_ || next_event(); });
        if (stop_asked_) return {.kind = die_asked_ ? exit_kind::killed : exit_kind::stopped};
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
    if (on_end_) {
        lock.unlock();
        on_end_({.supervisor = name_, .child = c->name, .reason = why, .restarts = restarts && !too_often});
        lock.lock();
    }
    if (too_often) return limit_failure(*c);
    if (restarts)
        restart_after(c, lock);
    else
        remove(c, why, lock);
    return nullptr;
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

/// Stops a child; afterwards it is down.
void supervisor_core::stop_one(const child_ptr& c, lock_type& lock) {
    changed_.wait(lock, [&] { return !c->is_starting; });
    const auto has_ended = [&] { return c->now != child::phase::running; };
    if (!has_ended()) {
        const auto until = deadline_after(c->shutdown);
        const bool at_once = die_asked_;
        lock.unlock();
        at_once ? c->kill() : c->stop();
        lock.lock();
        changed_.wait_until(lock, until, [&] { return has_ended() || die_asked_; });
        if (!has_ended()) {
            lock.unlock();
            c->kill();
            lock.lock();
            changed_.wait(lock, has_ended);
        }
    }
    c->now = child::phase::down;
}

void supervisor_core::stop_from(std::size_t first, lock_type& lock) {
    for (auto i = children_.size(); i-- > first;)  // SUPERVISOR_CORE-2: other callers only append
        if (!children_[i]->is_starting) stop_one(children_[i], lock);
    // These may have waited for the places of the others.
    for (auto i = first; i < children_.size(); ++i) stop_one(children_[i], lock);
}

void supervisor_core::remove(const child_ptr& c, exit_reason why, lock_type& lock) noexcept {
    const auto kept = c;
    std::erase(children_, kept);
    lock.unlock();
    kept->end(std::move(why));
    lock.lock();
}

bool supervisor_core::is_over_limit() {
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

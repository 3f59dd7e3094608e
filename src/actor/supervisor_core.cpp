#include "actor/supervisor_core.hpp"

#include <algorithm>
#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "sched/scheduler.hpp"
#include "sync/channel_core.hpp"

namespace weft::detail {
child::child(std::shared_ptr<supervisor_core> its_owner, const child_attributes& a)
    : owner(std::move(its_owner)), name(a.name), keep(a.keep), shutdown(a.shutdown) {}

supervisor_core::supervisor_core(const supervisor_options& o)
    : name_(o.name), strategy_(o.strategy), max_restarts_(o.max_restarts), within_(o.within), on_end_(o.on_end) {
    if (o.within <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: supervisor_options::within must be positive");
}

void supervisor_core::begin(scheduler& where) {
    {
        const lock_type lock(mutex_);
        where_ = &where;
        state_ = state::running;
        asked_ = end_by::nothing;
        link_failure_ = nullptr;
        has_given_up_ = false;
        life_.fetch_add(1, relaxed);  // SUPERVISOR_CORE-6
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
    if (state_ == state::running && asked_ == end_by::close) throw actor_gone(name_, {.kind = exit_kind::normal});
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

/// Calls change() under the lock. If that returns true, its fiber looks for what has changed.
template <class Change>
void supervisor_core::tell(Change change) noexcept {
    std::stop_source source(std::nostopstate);
    {
        const lock_type lock(mutex_);
        if (!change()) return;
        source = stop_source_;
        changed_.notify_all();
    }
    source.request_stop();
}

void supervisor_core::ask_to(end_by how) noexcept {
    tell([&] {
        asked_ = std::max(asked_, how);  // SUPERVISOR_CORE-5
        return true;
    });
}

void supervisor_core::linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept {
    auto failure = failure_of_link(other, why);
    tell([&] {
        // ACTOR_CORE-6
        if (life_.load(relaxed) != life || state_ != state::running || link_failure_) return false;
        link_failure_ = std::move(failure);
        return true;
    });
}

void supervisor_core::throw_gone() {
    lock_type lock(mutex_);
    const auto why = why_;
    lock.unlock();
    throw actor_gone(name_, why);
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
        is_heard = as_child || std::ranges::any_of(monitors_, [](const channel_ref& m) { return !m.core().was_closed(); });
    }
    for (const auto& c : children) c->end(why);
    if (auto* const f = this_fiber_block(); f && why.kind == exit_kind::failed && !is_heard)
        f->owner->report_unhandled(*f, why.failure);
    // Pairs with has_ended(). Stored before anything is told, so that a caller that comes later
    // sees it.
    has_ended_.store(true, release);
    break_links(*this, why);  // the links made since its last life
    {
        const lock_type lock(mutex_);
        state_ = state::ended;  // stored before anything is told, too
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
    std::erase_if(monitors_, [](const channel_ref& m) { return m.core().was_closed(); });
    if (state_ != state::ended) {
        monitors_.push_back(std::move(made));
    } else {
        auto copy = why_;
        channel_try_send(made.core(), &copy);
        channel_close(made.core());
    }
    return rx;
}

}  // namespace weft::detail

// fiber_ref.cpp - the handle of a fiber: join, wait, stop, detach; and this_fiber.
#include <weft/detail/fiber_ref.hpp>

#include <string>
#include <system_error>

#include <weft/detail/annotated_locks.hpp>
#include <weft/fiber.hpp>

#include "base/in_words.hpp"
#include "fiber/switch_point.hpp"
#include "sched/joiners.hpp"
#include "sched/scheduler.hpp"
#include "sched/wait/fiber_stop.hpp"
#include "sched/wait/park_listed.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind sleep_wait{.name = "sleep", .ends = ended_by::outside};

enum class with_handle : bool { stays, ends };

// Waits until the body has ended. The result tells how the wait ended; it is also `notified` if
// there was nothing to wait for.
wait_end wait_for_end(control_block& f, time_point until, interruptible may_stop, with_handle handle) noexcept {
    f.lock.lock();
    if (!f.life.await()) {  // CONTROL_BLOCK-4
        f.lock.unlock();
        return wait_end::notified;
    }
    const bool joins = handle == with_handle::ends;
    if (joins) require_no_join(f.joiners());
    wait w({.kind = join_wait, .object = &f, .deadline = until, .may_stop = may_stop});
    waiter me(w.cell(), w.ticket(), 0, joins ? mark_of_join(w.cell()) : nullptr);
    f.joiners().push_back(me);
    return park_listed(w, me, f.lock, f.joiners());
}

bool await_end(control_block& f, time_point until, with_handle handle) {
    check_interrupt();
    if (f.has_ended()) return true;
    require(this_fiber_block() != &f, "a fiber cannot join itself");
    if (f.owner->is_inherited()) [[unlikely]]
        throw std::system_error(std::make_error_code(std::errc::no_child_process),
                                "weft: join of a fiber that runs in the parent process");
    const auto how = wait_for_end(f, until, interruptible::yes, handle);
    if (how == wait_end::stopped) throw_cancelled();
    return how == wait_end::notified;
}

}  // namespace

fiber_ref::joined fiber_ref::join() {
    require_joinable(fiber_ != nullptr);
    if (done() || !carrier::join_in_place(*fiber_))
        // For a fiber that has ended there is no visit, in which a demand of the monitor would be
        // refused (HANDOFF-4).
        await_end(*fiber_, never, with_handle::ends);
    control_block* const f = std::exchange(fiber_, nullptr);
    return {f, f->body};
}

void fiber_ref::drop_joined(control_block& f) noexcept {
    if (f.life.is_joined()) [[likely]]
        carrier::free_joined(f);
    else
        scheduler::drop_handle(f);
}

bool fiber_ref::wait_until(time_point until) const { return await_end(*fiber_, until, with_handle::stays); }

void fiber_ref::wait_shielded() const noexcept {
    require(this_fiber_block() != fiber_, "a fiber cannot destroy its own handle");
    if (fiber_->owner->is_inherited()) return;  // a fiber of the parent process does not end here
    wait_for_end(*fiber_, never, interruptible::no, with_handle::ends);
}

bool fiber_ref::done() const noexcept { return fiber_->has_ended(); }

bool fiber_ref::request_stop() const noexcept {
    switch_point();
    return !fiber_->owner->is_inherited() && detail::request_stop(*fiber_);
}

std::stop_token fiber_ref::stop_token() const { return stop_token_of(*fiber_); }

std::uint64_t fiber_ref::id() const noexcept { return id_of(*fiber_); }

// relaxed: the taker is the scope's owner, which itself goes on to close(), or a child, which ends
// before close() and passes through the scope's lock
void joined_fiber::note_taken() const noexcept {
    what_.fiber->failure_taken.store(true, relaxed);
    what_.fiber->leave_trace();
}

namespace {

// Whether a stop of the caller is under way, even if a shield postpones it. A stop of a scope or of
// a runtime reaches its fibers one after the other. So a fiber that has ended by that stop may be
// joined by a fiber that the stop has not reached yet.
bool is_to_stop() noexcept {
    if (stop_is_pending() || pending_interrupt()) return true;
    const auto* const self = this_fiber_block();
    return self && (self->owner->all_are_stopped() || (self->parent && self->parent->is_stopped()));
}

}  // namespace

void joined_fiber::raise_failure() const {
    const auto& failure = body().failure();
    if (!is_cancellation(failure)) std::rethrow_exception(failure);
    if (is_to_stop()) throw_cancelled();
    const control_block& f = *what_.fiber;
    throw fiber_cancelled("weft: join: " + in_words(f.name(), f.site) + " was stopped");
}

void fiber_ref::detach() noexcept {
    bool failed;
    {
        const lock_guard guard(fiber_->lock);
        fiber_->mark.detached = true;
        // if it has not failed yet, body_failed() will see `detached`
        failed = fiber_->mark.failed;
    }
    if (failed) report_unhandled();
    reset();
}

void fiber_ref::report_unhandled() const noexcept { fiber_->owner->report_unhandled(*fiber_, fiber_->body->failure()); }

void fiber_ref::reset() noexcept {
    if (control_block* const f = std::exchange(fiber_, nullptr)) scheduler::drop_handle(*f);
}

void panic_unjoinable() noexcept {
    panic("join(), join_for() and detach() need a handle that names a fiber (joinable())",
          "this one was joined, detached or moved from, or has never had a fiber");
}

std::stop_token this_stop_token() { return this_fiber::stop_token(); }

}  // namespace weft::detail

namespace weft::this_fiber {

using namespace weft::detail;

namespace {

[[gnu::noinline]] void yield_attentively(control_block* self) {
    check_interrupt();
    if (self)
        carrier::yield(*self);
    else
        thread_yield();
}

}  // namespace

void yield() {
    auto* const self = this_fiber_block();
    if (!self || may_be_interrupted(self->cold())) [[unlikely]]
        return yield_attentively(self);
    carrier::yield(*self);
}

void sleep_until(steady_time_point until) {
    check_interrupt();
    wait w({.kind = sleep_wait, .deadline = until});
    if (w.park() == wait_end::stopped) throw_cancelled();
}

fiber_id id() noexcept {
    const auto* const self = this_fiber_block();
    return {self ? id_of(*self) : 0};
}

std::string_view name() noexcept {
    const auto* const self = this_fiber_block();
    return self ? self->name() : std::string_view();
}

void set_name(std::string_view s) noexcept {
    if (auto* const self = this_fiber_block()) {
        const lock_guard guard(self->lock);
        self->set_name(s);
    }
}

std::stop_token stop_token() {
    auto* const self = this_fiber_block();
    return self ? stop_token_of(*self) : std::stop_token();
}

weft::priority priority() noexcept {
    const auto* const self = this_fiber_block();
    return self ? self->priority() : weft::priority::normal;
}

std::size_t stack_remaining() noexcept {
    const auto* const self = this_fiber_block();
    if (!self) return 0;
    const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
    const auto& span = self->home->span;
    return here >= span.low && here < span.high ? static_cast<std::size_t>(here - span.low) : 0;
}

}  // namespace weft::this_fiber

#include <weft/detail/as_thread.hpp>

#include <cstdio>
#include <utility>

#include "arch/exception_state.hpp"
#include "base/panic.hpp"
#include "sched/identity/lock_owners.hpp"
#include "sched/identity/outside.hpp"
#include "sched/pinned.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

void unmark(control_block& f) noexcept {
    f.rare.fetch_and(static_cast<std::uint8_t>(~rare_identity), relaxed);  // as make_rare()
}

// The call may begin inside a handler, and an exception may end it: the exceptions of the fiber go with it.
template <class Change>
void with_exceptions(Change change) noexcept {
    const auto state = std::exchange(*exception_state_here(), {});
    change();
    *exception_state_here() = state;
}

}  // namespace

void give_identity(control_block& f) {
    f.identity_at_start = &f.owner->identities().take();
    f.make_rare(rare_identity);
}

void begin_identity(control_block& self) noexcept {
    auto& its = *self.home->identity;
    set_lock_owner(its.number(), self.cold());
    its.enter();
}

void take_identity_back(control_block& f) noexcept {
    unmark(f);
    f.owner->identities().give(*f.identity_at_start);
}

void leave_identity(control_block& self) noexcept {
    auto& its = *std::exchange(self.home->identity, nullptr);
    unmark(self);
    clear_lock_owner(its.number(), self.cold());
    with_exceptions([&] { its.leave(); });
    self.owner->identities().give(its);
}

bool fibers_can_be_threads() {
    const auto& here = identities_here();
    if (here.is_there) return true;
    static constinit atomic<bool> is_said{false};
    if (!is_said.exchange(true, relaxed))  // relaxed: one of the threads says it
        std::fprintf(stderr, "weft: a fiber that is to be a thread (as_thread) gets an OS thread of its own, since %s\n",
                     here.why_not);
    return false;
}

as_thread_scope::as_thread_scope() : fiber_(this_fiber_block()) {
    if (!fiber_) return;
    control_block& self = *fiber_;
    if (self.is_any(rare_identity)) {
        its_ = self.home->identity;
    } else if (fibers_can_be_threads()) {
        its_ = &self.owner->identities().take();
        self.home->identity = its_;
        self.make_rare(rare_identity);
        has_ = kept::identity;
        set_lock_owner(its_->number(), self.cold());
        with_exceptions([&] { its_->enter(); });
    } else if (!self.owner->simulated() && self.cold().pins == 0) {
        move_to_own_carrier(self);
        has_ = kept::own_carrier;
    }
}

as_thread_scope::~as_thread_scope() {
    if (!fiber_ || fiber_->owner->is_inherited()) return;  // a forked child stays on its only thread
    if (this_fiber_block() != fiber_ || (its_ && fiber_->home->identity != its_))
        panic("a call of this_fiber::as_thread ends in another fiber, or before one inside it",
              "a coroutine that suspends inside one goes on in the same fiber");
    if (has_ == kept::identity) leave_identity(*fiber_);
    if (has_ == kept::own_carrier) leave_own_carrier(*fiber_);
}

}  // namespace weft::detail

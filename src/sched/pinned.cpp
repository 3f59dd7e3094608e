#include "sched/pinned.hpp"

#include <weft/detail/pin.hpp>

#include "sched/scheduler.hpp"
#include "sched/simulate/choice.hpp"

namespace weft::detail {
namespace {

// \returns a carrier that has a worker, the caller's if possible. On a carrier that has none a hog
// may be running.
carrier& some_carrier(scheduler& where) noexcept {
    auto* const here = this_carrier_of(&where);
    if (here && here->worker_hint()) return *here;
    return *where.worker_at(choose(where.worker_count())).held_by();
}

// \returns a carrier that has a worker and is not `not_this`, unless no other has one.
carrier& another_carrier(scheduler& where, const carrier& not_this) noexcept {
    const auto n = where.worker_count();
    const auto first = choose(n);
    for (unsigned i = 0; i < n; ++i) {
        carrier& c = *where.worker_at((first + i) % n).held_by();
        if (&c != &not_this) return c;
    }
    return *where.worker_at(first).held_by();
}

void unpin(control_block& f) noexcept {
    f.is_apart = f.is_classed();
    std::exchange(f.cold().pinned_to, nullptr)->count_pinned(-1);
    f.cold().make_ready.store(way_to_ready_of(f), relaxed);  // PINNED-1
}

// A carrier that is seen with a worker after the fiber was counted has neither been reserved nor
// ended its thread (PINNED-5).
void pin_where_a_worker_is(control_block& f, scheduler& where) noexcept {
    for (;;) {
        carrier& c = some_carrier(where);
        pin_to(f, c);
        if (where.has_worker(c) && !c.is_reserved()) return;
        unpin(f);
    }
}

}  // namespace

void pin_to(control_block& f, carrier& to) noexcept {
    f.is_apart = true;
    f.cold().pinned_to = &to;
    to.count_pinned(1);
    f.cold().make_ready.store(way_to_ready_of(f), relaxed);  // PINNED-1
}

void pin_new(control_block& f, scheduler& where, migrate how) {
    if (where.simulated()) return;  // all fibers run on one thread
    switch (how) {
        case migrate::always:
            if (where.tortures()) pin_where_a_worker_is(f, where);
            return;
        case migrate::before_start: break;  // pinned by the carrier that starts it: give_own_stack()
        case migrate::never:
            pin_where_a_worker_is(f, where);
            break;
        case migrate::own_carrier: pin_to(f, where.spares().reserve()); break;
    }
    f.cold().pins = 1;
}

void pin_elsewhere(control_block& f, scheduler& where) noexcept {
    const carrier* const before = f.cold().pinned_to;
    for (;;) {
        carrier& c = another_carrier(where, *before);
        c.count_pinned(1);
        std::exchange(f.cold().pinned_to, &c)->count_pinned(-1);
        if (where.has_worker(c) && !c.is_reserved()) return;
    }
}

void move_to_own_carrier(control_block& self) {
    carrier& own = self.owner->spares().reserve();
    if (self.is_pinned()) self.cold().pinned_to->count_pinned(-1);  // PINNED-7
    pin_to(self, own);
    self.cold().pins = 1;
    carrier::yield(self);  // it goes on there
}

void leave_own_carrier(control_block& self) noexcept {
    let_go(self);
    if (self.owner->tortures()) pin_where_a_worker_is(self, *self.owner);
    carrier::yield(self);
}

void let_go(control_block& f) noexcept {
    f.cold().pins = 0;
    if (!f.is_pinned()) return;
    f.cold().pinned_to->reserve(false);
    unpin(f);
}

namespace {

// \returns the calling fiber, or null if there is none or it is simulated: then it stays on its
// only thread anyway.
control_block* fiber_that_may_move() noexcept {
    auto* const f = this_fiber_block();
    return f && f->owner->simulated() ? nullptr : f;
}

}  // namespace

pin::pin() noexcept : fiber_(fiber_that_may_move()) {
    if (!fiber_ || fiber_->cold().pins++ != 0) return;
    // PINNED-7. It may be on another carrier now, if it runs inside another fiber.
    if (fiber_->is_pinned()) fiber_->cold().pinned_to->count_pinned(-1);
    pin_to(*fiber_, *this_carrier());
}

pin::~pin() {
    if (fiber_ && --fiber_->cold().pins == 0 && !fiber_->owner->tortures()) unpin(*fiber_);
}

}  // namespace weft::detail

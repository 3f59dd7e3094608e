#include "sched/bound.hpp"

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

bool has_worker(scheduler& where, const carrier& c) noexcept {
    for (unsigned i = 0; i < where.worker_count(); ++i)
        if (where.worker_at(i).held_by() == &c) return true;
    return false;
}

void set_free(control_block& f) noexcept {
    f.is_apart = f.is_classed();
    std::exchange(f.rest().bound_to, nullptr)->count_bound(-1);
    f.rest().make_ready.store(way_to_ready_of(f), relaxed);  // B1
}

// A carrier that is seen with a worker after the fiber was counted has neither been reserved nor
// ended its thread (B5).
void bind_where_a_worker_is(control_block& f, scheduler& where) noexcept {
    for (;;) {
        carrier& c = some_carrier(where);
        bind(f, c);
        if (has_worker(where, c) && !c.is_reserved()) return;
        set_free(f);
    }
}

}  // namespace

void bind(control_block& f, carrier& to) noexcept {
    f.is_apart = true;
    f.rest().bound_to = &to;
    to.count_bound(1);
    f.rest().make_ready.store(way_to_ready_of(f), relaxed);  // B1
}

void bind_new(control_block& f, scheduler& where, migrate how) {
    if (where.simulated()) return;  // all fibers run on one thread
    switch (how) {
        case migrate::always:
            if (where.tortures()) bind_where_a_worker_is(f, where);
            return;
        case migrate::before_start: break;  // bound by the carrier that starts it: give_own_stack()
        case migrate::never:
            bind_where_a_worker_is(f, where);
            break;
        case migrate::own_carrier: bind(f, where.the_monitor().reserve_carrier()); break;
    }
    f.rest().pins = 1;
}

void bind_elsewhere(control_block& f, scheduler& where) noexcept {
    const carrier* const before = f.rest().bound_to;
    for (;;) {
        carrier& c = another_carrier(where, *before);
        c.count_bound(1);
        std::exchange(f.rest().bound_to, &c)->count_bound(-1);
        if (has_worker(where, c) && !c.is_reserved()) return;
    }
}

void let_go(control_block& f) noexcept {
    f.rest().pins = 0;
    if (!f.is_bound()) return;
    f.rest().bound_to->reserve(false);
    set_free(f);
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
    if (!fiber_ || fiber_->rest().pins++ != 0) return;
    // B7. It may be on another carrier now, if it runs inside another fiber.
    if (fiber_->is_bound()) fiber_->rest().bound_to->count_bound(-1);
    bind(*fiber_, *this_carrier());
}

pin::~pin() {
    if (fiber_ && --fiber_->rest().pins == 0 && !fiber_->owner->tortures()) set_free(*fiber_);
}

}  // namespace weft::detail

#include "sched/bound.hpp"

#include <weft/detail/pin.hpp>

#include "sched/choice.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {
namespace {

// One that has a worker, the caller's if possible. A carrier that has none may be in the hands of a hog.
carrier& some_carrier(scheduler& where) noexcept {
    auto* const here = this_carrier_of(&where);
    if (here && here->worker_hint()) return *here;
    return *where.worker_at(choose(where.worker_count())).held_by();
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

// Seen with a worker after it was counted, it has neither been reserved nor ended its thread (B5).
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
    switch (how) {
        case migrate::always: return;
        case migrate::before_start: break;  // by who starts it
        case migrate::never:
            bind_where_a_worker_is(f, where);
            break;
        case migrate::own_carrier: bind(f, where.hand_offs().reserve_carrier()); break;
    }
    f.rest().pins = 1;
}

void let_go(control_block& f) noexcept {
    f.rest().pins = 0;
    if (!f.is_bound()) return;
    f.rest().bound_to->reserve(false);
    set_free(f);
}

pin::pin() noexcept : fiber_(this_fiber_block()) {
    if (fiber_ && fiber_->rest().pins++ == 0) bind(*fiber_, *this_carrier());
}

pin::~pin() {
    if (fiber_ && --fiber_->rest().pins == 0) set_free(*fiber_);
}

}  // namespace weft::detail

// bound.hpp - fibers that stay on one carrier, that is on one OS thread: migrate other than `always`, and this_fiber::pinned.
//
// Such a fiber is in no run queue, from which a thief or who is granted the worker could take it, but in a queue of its carrier. It
// runs there with the carrier's worker, if that has one, else without, as a demoted one does. While another fiber computes on that
// thread it waits: a worker can go elsewhere, a bound fiber cannot.
//
// Invariants
//   B1  is_apart, bound_to, pins and with them make_ready change only while the fiber's owner is active, or nobody but the caller can
//       run it (D1 of demotion.hpp): whoever has claimed its wait finds it settled. A bound fiber is not demoted.
//   B2  A bound fiber that is ready is in bound() of its carrier, and only that carrier's own thread takes it out to run it.
//   B3  The carrier does not sleep while one is there. Who pushes passes a fence and wakes the worker that the carrier has, or
//       summons it from among the spares, or both: held_by() may be old. Who is about to sleep has passed a fence (of idle_set, or set_napper()) and looks; the spares
//       are registered, and looked for, under one lock. A carrier that is between the two looks before it sleeps.
//       Model test: tests/model/bound_model.cpp.
//   B4  A worker that has others to run runs one bound fiber per poll; one that has none runs them at once. (A poll comes each 100 us,
//       once the worker has learnt how long bodies last, and at the next dispatch after a look of the monitor: worker::poll().)
//   B5  A reserved carrier has no worker, and one fiber is bound to it. Only a spare that nobody is bound to is reserved, or ends its
//       thread: who reserves says so and then looks; who binds a fiber from elsewhere counts it first, and then sees that the carrier
//       is not reserved and has a worker, so that it does not end.
//   B6  A fiber that runs inside another (K5 of carrier.hpp) may bind itself, but a bound one, unless by B7, runs none inside itself, nor
//       is run so.
//   B7  Under migration_policy::torture a fiber that may move is bound, too, from before its start, but with no pins; whoever makes it
//       ready binds it to another carrier first, one that has a worker. If that loses the worker, the fiber is sent on: who pushes
//       passes a fence and looks for the worker; who takes the worker away names its new holder, passes a fence and empties bound().
#pragma once

#include <weft/detail/migrate.hpp>

#include "sched/carrier.hpp"

namespace weft::detail {

/// Before the fiber starts. \throws std::system_error (EAGAIN)
void bind_new(control_block& f, scheduler& where, migrate how);
/// To the caller's carrier, which runs `f` or is about to.
void bind(control_block& f, carrier& to) noexcept;
/// Whether it is bound for as long as it does not park (B7).
inline bool moves_on(const control_block& f) noexcept { return f.is_bound() && f.rest().pins == 0; }
/// Such a one. Who alone may run it.
void bind_elsewhere(control_block& f, scheduler& where) noexcept;
/// For all reasons: it has ended, or never starts.
void let_go(control_block& f) noexcept;

}  // namespace weft::detail

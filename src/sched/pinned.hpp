// pinned.hpp - fibers that stay on one carrier, which is one OS thread.
//
// They come from `migrate` other than `always`, and from this_fiber::pinned. A pinned fiber that is
// ready lies in a queue of its carrier, where no thief finds it, and no other carrier that is
// granted the worker. It runs there with the carrier's worker, if that has one, else without,
// as a demoted fiber does. While another fiber computes on that thread it waits: a worker can go
// elsewhere, a pinned fiber cannot.
//
// Invariants
//   PINNED-1  is_apart, pinned_to, pins and with them make_ready change only while the fiber's
//             owner is active, or while no other thread can run the fiber (DEMOTION-1). So a
//             claimer of its wait finds them settled. A fiber is not demoted while it is pinned;
//             a demoted fiber that pins itself keeps the mark.
//   PINNED-2  A pinned fiber that is ready is in pinned() of its carrier, and only that carrier's
//             own thread takes it out to run it.
//   PINNED-3  The carrier does not sleep while a fiber is in pinned(). A thread that pushes one
//             passes a fence and wakes the worker that the carrier has, or summons the carrier from
//             among the spares, or both, since held_by() may be old. A worker that is about to
//             sleep has passed a fence (of idle_set, or of nap()) and looks; the spares are
//             registered, and looked for, under one lock. A carrier that is neither a worker nor a
//             spare looks at pinned() before it sleeps. Model test: tests/model/pinned_model.cpp.
//   PINNED-4  A worker that has other fibers to run runs one pinned fiber per poll; one that has
//             none runs them at once. (A poll comes each 100 us, once the worker has learnt how
//             long bodies last, and at the next dispatch after a look of the monitor:
//             worker::poll().)
//   PINNED-5  A reserved carrier has no worker, and one fiber is pinned to it. A carrier is
//             reserved, and its thread ends, only while it is a spare and no fiber is pinned to it.
//             A thread that reserves a carrier marks it first and then looks whether a fiber is
//             pinned to it. A thread that pins a fiber to another carrier counts the fiber first,
//             and then looks that the carrier is not reserved and has a worker, so that the carrier
//             does not end.
//   PINNED-6  A fiber that runs inside another (CARRIER-3) may pin itself. But a pinned fiber,
//             unless pinned by PINNED-7, runs none inside itself and is not run inside another.
//   PINNED-7  Under migration_policy::torture a fiber that may move is pinned, too, from before its
//             start, but without pins; the thread that makes it ready pins it to another carrier
//             first, one that has a worker. If that carrier loses the worker, the fiber is sent on:
//             a thread that pushes passes a fence and looks for the worker; the monitor, when it
//             takes the worker away, names its new holder, passes a fence and empties pinned().
#pragma once

#include <weft/migrate.hpp>

#include "sched/carrier.hpp"

namespace weft::detail {

/// Pins a fiber before it starts, as `migrate` says. \throws std::system_error (EAGAIN)
void pin_new(control_block& f, scheduler& where, migrate how);
/// Pins `f` to the carrier `to`: the caller's, which runs `f` or is about to, or one for a fiber
/// that has not started.
void pin_to(control_block& f, carrier& to) noexcept;
/// Whether the fiber is pinned only until it parks (PINNED-7).
inline bool moves_on(const control_block& f) noexcept { return f.is_pinned() && f.cold().pins == 0; }
/// Pins a fiber for which moves_on() holds to another carrier. Called by the thread that alone may
/// run the fiber.
void pin_elsewhere(control_block& f, scheduler& where) noexcept;
/// Moves the calling fiber, which has no pins, to a carrier that runs nothing else, and back.
/// \throws  std::system_error (EAGAIN)
void move_to_own_carrier(control_block& self);
void leave_own_carrier(control_block& self) noexcept;
/// Unpins a fiber for good, because its body has ended or it never starts.
void let_go(control_block& f) noexcept;

}  // namespace weft::detail

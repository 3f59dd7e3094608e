// fiber_stop.hpp - how a stop reaches one fiber.
//
// It goes to the fiber's stop token first, then to the wait the fiber is in, or to the child it
// runs in place. These are free functions, since none of them needs the scheduler; that stops all
// fibers with them (scheduler::request_stop_of_all()).
#pragma once

#include <stop_token>

namespace weft::detail {

struct control_block;
struct wait_cell;

/// Asks a fiber to stop. True: this is the first request.
bool request_stop(control_block&) noexcept;

// request_stop() in three parts, so that many stops can share one heavy fence: raise_stop(),
// heavy_fence(), deliver_stop(). Call them without holding a lock.

/// Counts the stop. True: it is the first, and deliver_stop() must follow.
bool raise_stop(control_block&) noexcept;
/// Notifies the stop token, ends the fiber's wait, and passes the stop on to a child in place.
void deliver_stop(control_block&) noexcept;
/// Stops the child that the fiber of this cell joins by running it, if there is one: the fiber
/// cannot go on before that child has ended.
void stop_in_place_child(wait_cell&) noexcept;

/// \returns the fiber's own stop token, made on first use. \throws std::bad_alloc
std::stop_token stop_token_of(control_block&);

}  // namespace weft::detail

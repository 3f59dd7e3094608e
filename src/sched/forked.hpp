// forked.hpp - a carrier's thread in a forked child: a plain thread that runs on a fiber's stack.
//
// The child has none of its parent's other threads, so no worker of the parent runs on. The fiber
// that called fork() goes on as a plain thread, inside the same deadlines and shields: where it
// waits, the thread sleeps, and free functions find no runtime. When the function that was the
// fiber's body ends, the process ends, since there is no caller to return to.
//
// A fiber that has an identity forks outside of it: the C library takes the thread that calls fork() for
// the only one of the child, and the stacks of all others for free. The child is inside the identity then.
#pragma once

namespace weft::detail {

class thread_identity;

/// Registers what becomes of a carrier's thread in a forked child. Called before the first carrier
/// starts; once is enough.
void make_children_plain() noexcept;

/// Makes the thread of a forked child, which has entered the identity of the fiber that called fork(), the
/// carrier's own thread again. It stays inside the same deadlines and shields.
void leave_in_child(thread_identity& its) noexcept;

}  // namespace weft::detail

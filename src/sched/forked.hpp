// forked.hpp - a carrier's thread in a forked child: a plain thread that runs on a fiber's stack.
//
// The child has none of its parent's other threads, so no worker of the parent runs on. The fiber
// that called fork() goes on as a plain thread, inside the same deadlines and shields: where it
// waits, the thread sleeps, and free functions find no runtime. When the function that was the
// fiber's body ends, the process ends, since there is no caller to return to.
//
// The C library treats the thread that calls fork() as the only thread of the child, and gives the memory of
// all others to new threads. If the fiber has an identity, the identity is that thread, and remains it.
#pragma once

namespace weft::detail {

/// Registers what becomes of a carrier's thread in a forked child. Called before the first carrier
/// starts; once is enough.
void make_children_plain() noexcept;

}  // namespace weft::detail

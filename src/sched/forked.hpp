// forked.hpp - a carrier's thread in a forked child: an ordinary thread, which happens to run on a fiber's stack.
//
// The child has none of the other threads, so no worker of its parent's runs on. Who forked goes on as a plain thread, with the deadlines and
// shields it is inside of: what waits sleeps, and free functions find no runtime. When the function that was the fiber's body ends, the
// process ends, since there is nobody to return to.
#pragma once

namespace weft::detail {

/// Before the first carrier starts; once is enough.
void make_children_plain() noexcept;

}  // namespace weft::detail

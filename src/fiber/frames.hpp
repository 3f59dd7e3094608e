// frames.hpp - the lists of active deadlines and shields, also of coroutines.
//
// Invariants
//   FRAMES-1  Each list of a coroutine_slot holds the active frames (begun, not ended) of the code
//             that runs there, the innermost first. `effective` of each frame takes all outer
//             frames into account.
//   FRAMES-2  A frame that began in a coroutine is in the list of the slot where that coroutine
//             runs, inside the frames of its caller. While the coroutine does not run, the
//             coroutine keeps the frame aside, the outermost first. So to bring the frames back is
//             to begin them again in their old order.
#pragma once

#include <weft/detail/interrupt.hpp>

#include <algorithm>
#include <utility>

#include "arch/coroutine_slot.hpp"

namespace weft::detail {

/// Makes `f` the innermost (FRAMES-1).
inline void enter_frame(deadline_frame*& list, deadline_frame& f) noexcept {
    f.list = &list;
    f.effective = list ? std::min(f.own, list->effective) : f.own;
    f.outer = std::exchange(list, &f);
}
inline void enter_frame(shield_frame*& list, shield_frame& f) noexcept {
    f.effective = list ? std::max(f.own, list->effective) : f.own;
    f.outer = std::exchange(list, &f);
}

/// Begins a frame in the code that runs in `slot`. If that is a coroutine, it is marked: only then
/// its yields look for frames.
template <class Frame>
void begin_frame(coroutine_slot& slot, Frame*& list, Frame& f) noexcept {
    f.within = slot.innermost;
    if (f.within) link_of(*f.within).due |= due_frames;
    enter_frame(list, f);
}

/// The frames of a coroutine that does not run (FRAMES-2).
class frames_aside {
public:
    /// Called when `whose` stops running. \returns  whether it has any frames.
    [[gnu::noinline, gnu::cold]] bool put_aside(coroutine_slot& from, const coroutine_core& whose) noexcept {
        move_to(deadlines_, from.deadlines, whose);
        move_to(shields_, from.shields, whose);
        return deadlines_ || shields_;
    }
    /// Called when the coroutine goes on.
    [[gnu::noinline, gnu::cold]] void bring_back(coroutine_slot& to) noexcept {
        move_back(deadlines_, to.deadlines);
        move_back(shields_, to.shields);
    }

private:
    template <class Frame>
    static void move_to(Frame*& aside, Frame*& list, const coroutine_core& whose) noexcept {
        while (list && list->within == &whose) {
            Frame* const f = list;
            list = f->outer;
            f->outer = std::exchange(aside, f);
        }
    }
    template <class Frame>
    static void move_back(Frame*& aside, Frame*& list) noexcept {
        while (Frame* const f = aside) {
            aside = f->outer;
            enter_frame(list, *f);
        }
    }

    deadline_frame* deadlines_ = nullptr;
    shield_frame* shields_ = nullptr;
};

}  // namespace weft::detail

// frames.hpp - the lists of deadlines and shields under way, and how those of a coroutine leave and join them with it.
//
// Invariants
//   D1  Each list of a coroutine_slot holds the frames that have begun and not ended in what runs there, the innermost first, and
//       `effective` of each counts all outer ones in.
//   D2  A frame that began in a coroutine is in the slot where that coroutine runs, above those of its caller. While it does not run
//       the frame is aside in the coroutine, the outermost first: so to bring them back is to begin them anew in the order in which they began.
#pragma once

#include <weft/detail/interrupt.hpp>

#include <algorithm>
#include <utility>

#include "arch/coroutine_slot.hpp"

namespace weft::detail {

/// Makes `f` the innermost (D1).
inline void enter_frame(deadline_frame*& list, deadline_frame& f) noexcept {
    f.list = &list;
    f.effective = list ? std::min(f.own, list->effective) : f.own;
    f.outer = std::exchange(list, &f);
}
inline void enter_frame(shield_frame*& list, shield_frame& f) noexcept {
    f.effective = list ? std::max(f.own, list->effective) : f.own;
    f.outer = std::exchange(list, &f);
}

/// A frame begins in what runs in `slot`. A coroutine is told, whose yields look for frames only then.
template <class Frame>
void begin_frame(coroutine_slot& slot, Frame*& list, Frame& f) noexcept {
    f.within = slot.innermost;
    if (f.within) link_of(*f.within).due |= due_frames;
    enter_frame(list, f);
}

/// Those of a coroutine that does not run (D2).
class frames_aside {
public:
    /// `whose` stops running. \returns  whether it has any.
    [[gnu::noinline, gnu::cold]] bool put_aside(coroutine_slot& from, const coroutine_core& whose) noexcept {
        move_to(deadlines_, from.deadlines, whose);
        move_to(shields_, from.shields, whose);
        return deadlines_ || shields_;
    }
    /// It goes on.
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

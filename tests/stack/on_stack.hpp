// on_stack.hpp - runs a function on a given stack and comes back, for tests of stack memory.
#pragma once

#include "arch/context.hpp"
#include "stack/stack.hpp"

namespace weft::detail {

template <class F>
void run_on(stack& s, F f) {
    struct visit {
        F& f;
        context home;
        context away;
    } v{f, {}, {}};
    make_context(
        v.away, s.span, s.span.high,
        [](void* argument) noexcept {
            auto& mine = *static_cast<visit*>(argument);
            mine.f();
            jump_context(mine.home);
        },
        &v);
    switch_context(v.home, v.away);
}

}  // namespace weft::detail

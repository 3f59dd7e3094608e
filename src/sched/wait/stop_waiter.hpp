// stop_waiter.hpp - the registration by which a std::stop_token ends a wait.
//
// It is in no list: the token's own lock and the claim word are all the order it needs. It is
// constructed after the wait began and its locks were released, because a token that is already
// stopped claims at once. It is destroyed after the park; its destructor waits for a callback that
// still runs on another thread, so the waiter outlives the callback.
#pragma once

#include <stop_token>

#include "sched/wait/wait.hpp"

namespace weft::detail {

class stop_waiter {
public:
    stop_waiter(wait& w, wait_outcome index, const std::stop_token& token)
        : me_(w.cell(), w.ticket(), index), callback_(token, claimer{me_}) {}

private:
    struct claimer {
        waiter& me;
        void operator()() const noexcept {
            if (me.claim()) me.unpark();
        }
    };

    waiter me_;
    std::stop_callback<claimer> callback_;  // after me_: destroyed first
};

}  // namespace weft::detail

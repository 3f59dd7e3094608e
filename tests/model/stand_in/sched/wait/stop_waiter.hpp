// stop_waiter.hpp - sched/wait/stop_waiter.hpp in the model build. The token is the library's, and what is inside of it is one step; that its
// callback's end is waited for is modelled: the library takes all modelled threads for one, which need not wait for itself.
#pragma once

#include <optional>
#include <stop_token>

#include "sched/wait/wait.hpp"

namespace weft::detail {

class stop_waiter {
public:
    stop_waiter(wait& w, wait_outcome index, const std::stop_token& token)
        : me_(w.cell(), w.ticket(), index), callback_(std::in_place, token, claimer{*this}) {}
    ~stop_waiter() {
        callback_.reset();
        while (is_running_.load(acquire)) cpu_relax();
    }

private:
    struct claimer {
        stop_waiter& of;
        void operator()() const noexcept {
            auto& mine = of;  // this may be gone while it runs
            mine.is_running_.store(true, relaxed);
            if (mine.me_.claim()) mine.me_.unpark();
            mine.is_running_.store(false, release);
        }
    };

    waiter me_;
    atomic<bool> is_running_{false};
    std::optional<std::stop_callback<claimer>> callback_;
};

}  // namespace weft::detail

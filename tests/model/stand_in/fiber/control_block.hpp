// control_block.hpp - fiber/control_block.hpp in the model build: a fiber that others wait for. Nothing runs on it; its end is a call.
#pragma once

#include "base/spin_lock.hpp"
#include "fiber/life_word.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

struct fiber_cold : wait_cell {
    using wait_cell::wait_cell;
    wait_list joiners;  // used by control_block::joiners()
};

struct control_block {
    control_block() noexcept { life.begin(false); }

    life_word life;
    spin_lock lock;

    fiber_cold& cold() noexcept { return rest_; }
    wait_list& joiners() noexcept WEFT_REQUIRES(lock) { return rest_.joiners; }
    bool has_ended() const noexcept { return life.has_ended(); }

    /// As the carrier does after the body (CONTROL_BLOCK-4).
    void end() noexcept {
        if (!life.end().was_awaited) return;
        for (;;) {
            lock.lock();
            waiter* const joiner = joiners().claim_front();
            lock.unlock();
            if (!joiner) return;
            joiner->unpark();
        }
    }

private:
    atomic<std::uint32_t> signal_{0};
    fiber_cold rest_{signal_};
};

}  // namespace weft::detail

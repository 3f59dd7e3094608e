// parker.hpp - where one worker sleeps: on a futex or in the I/O driver, until woken or a deadline.
//
//  state      meaning                          leaves by
//  empty      awake, no token                  prepare -> asleep or in_driver | wake -> token
//  asleep     on the futex, or about to be     wake -> token, and the futex is woken
//                                              | timeout -> empty
//  in_driver  in driver.poll(), or about to    wake -> token, and the driver is woken
//             be                               | poll ends -> empty
//  token      woken; the next sleep returns    consume -> empty
//             at once
//
// Invariants
//   PARKER-1  Every transition is an exchange of the one word; a wake() is never lost: it leaves a
//             token or finds the sleeper.
//   PARKER-2  Only the owner leaves `token`.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/futex.hpp"
#include "sched/driver.hpp"

namespace weft::detail {

class parker {
public:
    /// Owner only: sleeps until wake() or `until`.
    void sleep(time_point until) noexcept {
        if (!prepare(asleep)) return;
        while (word_.load(acquire) == asleep) {  // acquire: pairs with wake()
            const auto ns = until.time_since_epoch().count();
            const auto result = futex_wait(word_, asleep, until == never ? std::optional<monotonic_ns>{} : ns);
            if (result == futex_result::timed_out) break;
        }
        // PARKER-2; pairs with wake(). This may drop a token that came just now: the owner looks at
        // everything next.
        word_.exchange(empty, acq_rel);
    }

    /// Owner only: sleeps in the driver until wake(), `until`, or something is ready. \returns what
    /// poll() returned.
    unsigned sleep_in(driver& d, time_point until) noexcept {
        if (!prepare(in_driver)) return 0;
        const auto woken = d.poll(until);
        // PARKER-2; pairs with wake(), and may drop a token, as in sleep()
        word_.exchange(empty, acq_rel);
        return woken;
    }

    /// Any thread: wakes the owner, or leaves a token for its next sleep.
    void wake(driver& d) noexcept {
        // PARKER-1; pairs with sleep() and prepare(): publishes what the waker did before
        switch (word_.exchange(token, acq_rel)) {
            case asleep: futex_wake(word_, 1); break;
            case in_driver: d.wake(); break;
            default: break;  // the owner is awake and finds the token
        }
    }

private:
    static constexpr std::uint32_t empty = 0, asleep = 1, in_driver = 2, token = 3;

    bool prepare(std::uint32_t how) noexcept {
        auto expected = empty;
        // pairs with wake()
        if (word_.compare_exchange_strong(expected, how, acq_rel, acquire)) return true;
        word_.store(empty, relaxed);  // PARKER-2: the token is consumed
        return false;
    }

    alignas(64) atomic<std::uint32_t> word_{empty};
};

}  // namespace weft::detail

// countdown.hpp - a count and those who wait for its zero: what wait_group and latch are.
//
// Invariants
//   G1  The count is never negative: the broken rule is named and the program stops.
//   G2  A wait that begins while the count is positive ends when the count next becomes zero, even if it grows again at once.
//   G3  Who makes the count zero does not touch it afterwards: a waiter may destroy it.
#pragma once

#include <cstddef>

#include "sync/waiting_room.hpp"

namespace weft::detail {

struct countdown {
    waiting_room room;
    std::ptrdiff_t count = 0;  // under the room's lock

    /// `rule` is what a count below zero breaks.
    void add(std::ptrdiff_t n, const char* rule) noexcept {
        room.lock.lock();
        require(!__builtin_add_overflow(count, n, &count), "wait_group: counts up to the largest std::ptrdiff_t");
        require(count >= 0, rule);                        // G1
        if (count == 0) return room.unlock_and_wake_all();  // G2, G3
        room.lock.unlock();
    }

    bool is_zero() noexcept {
        room.lock.lock();
        const bool zero = count == 0;
        room.lock.unlock();
        return zero;
    }

    /// \returns  false if the time has passed, or `token` was stopped, first.
    bool wait(park_reason why, const void* object, time_point until, const std::stop_token* token) {
        check_interrupt();
        room.lock.lock();
        if (count != 0) return room.wait_locked({.reason = why, .object = object, .deadline = until}, token);
        room.lock.unlock();
        return true;
    }
};

}  // namespace weft::detail

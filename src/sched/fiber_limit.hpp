// fiber_limit.hpp - the places of a runtime that limits its fibers, and the line of waiting spawns.
//
//  places_   meaning                                leaves by (*: only under lock_)
//  n > 0     n places are free                      take -> n - 1 | give -> n + 1
//  0         none is free, the line is empty        give -> 1 | take_or_close* -> closed
//  closed    none is free, the line is not empty    give*, remove*: the last in line goes
//                                                   -> 0, or 1 if it goes unserved
//
// Invariants
//   FIBER_LIMIT-1  Free places and those held are `most` together. A place that is handed directly
//                  to a waiter never shows in places_.
//   FIBER_LIMIT-2  `closed` is entered and left under lock_ only, and while it holds the word is
//                  not changed otherwise: a fiber that comes later cannot overtake one that waits.
//   FIBER_LIMIT-3  Whenever lock_ is free, the word is `closed` if and only if the line has waiters
//                  in it. (One in it may have been stopped; give() drops it.)
//   FIBER_LIMIT-4  A waiter that give() has claimed has its place; one that was stopped has none,
//                  and leaves the line.
//   FIBER_LIMIT-5  What a fiber did before its place was given back happens before what the taker
//                  does.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstdint>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

class fiber_limit {
public:
    explicit fiber_limit(std::int64_t most) noexcept : places_(most) {}
    fiber_limit(const fiber_limit&) = delete;
    fiber_limit& operator=(const fiber_limit&) = delete;

    /// Takes a place if one is free and the line is empty.
    [[nodiscard]] bool take() noexcept {
        auto n = places_.load(relaxed);
        while (n > 0)
            // FIBER_LIMIT-5, pairs with give()
            if (places_.compare_exchange_weak(n, n - 1, acquire, relaxed)) return true;
        return false;
    }

    /// The waiters, for wait_on(). Used under the lock.
    class waiting_line : private wait_list {
    public:
        explicit waiting_line(atomic<std::int64_t>& places) noexcept : places_(places) {}

        using wait_list::claim_front;
        using wait_list::empty;
        using wait_list::push_back;
        /// Takes a waiter out whose wait has ended without a place.
        void remove(waiter& who) noexcept {
            if (!who.linked()) return;  // dropped by a give()
            wait_list::remove(who);
            // FIBER_LIMIT-3; there was no place in the word to hand over
            if (empty()) places_.store(0, relaxed);
        }

    private:
        atomic<std::int64_t>& places_;
    };

    // How a caller waits: lock; take_or_close(), and if that took no place wait_on() the line.

    spin_lock& lock() noexcept WEFT_RETURN_CAPABILITY(lock_) { return lock_; }
    waiting_line& line() noexcept WEFT_REQUIRES(lock_) { return line_; }

    /// False: no place is free; the caller must enter the line first (FIBER_LIMIT-3).
    [[nodiscard]] bool take_or_close() noexcept WEFT_REQUIRES(lock_) {
        for (auto n = places_.load(relaxed); n != closed;) {
            const bool is_free = n > 0;
            // FIBER_LIMIT-5, pairs with give(); FIBER_LIMIT-2
            if (places_.compare_exchange_weak(n, is_free ? n - 1 : closed, acquire, relaxed)) return is_free;
        }
        return false;
    }

    /// Any thread: gives a place back, or hands it to the first in line.
    void give() noexcept {
        auto n = places_.load(relaxed);
        while (n != closed)
            // FIBER_LIMIT-5, pairs with take()
            if (places_.compare_exchange_weak(n, n + 1, release, relaxed)) return;
        if (waiter* const next = pass_on()) next->unpark();
    }

private:
    static constexpr std::int64_t closed = -1;

    // \returns the waiter that has the place now, or null.
    [[gnu::noinline]] waiter* pass_on() noexcept {
        const lock_guard guard(lock_);
        waiter* const next = line_.claim_front();  // FIBER_LIMIT-4
        if (!next) {
            free_one();
        } else if (line_.empty()) {
            places_.store(0, relaxed);  // FIBER_LIMIT-3
        }
        return next;
    }

    // Called when the line is empty. If the caller has not emptied it itself, others change the
    // word meanwhile.
    void free_one() noexcept WEFT_REQUIRES(lock_) {
        auto n = places_.load(relaxed);
        // FIBER_LIMIT-5, pairs with take()
        while (!places_.compare_exchange_weak(n, n == closed ? 1 : n + 1, release, relaxed)) {}
    }

    alignas(64) atomic<std::int64_t> places_;
    spin_lock lock_;
    waiting_line line_ WEFT_GUARDED_BY(lock_){places_};
};

}  // namespace weft::detail

// countdown.hpp - a count and the fibers that wait for its zero: wait_group and latch.
//
// Invariants
//   COUNTDOWN-1  The count is never negative. A violation stops the program with the name of the
//                broken rule.
//   COUNTDOWN-2  A wait that begins while the count is positive ends when the count next becomes
//                zero, even if it grows again at once.
//   COUNTDOWN-3  The caller that makes the count zero does not touch the object afterwards, since a
//                waiter may destroy it.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <stop_token>

#include <weft/detail/clock.hpp>
#include <weft/detail/opaque.hpp>

namespace weft::detail {

struct waiting_room;

class WEFT_EXPORT countdown {
public:
    enum class what : std::uint8_t { wait_group, latch };

    constexpr countdown(what w, std::ptrdiff_t count) noexcept : count_(count), what_(w) {
        if (count < 0) begins_below_zero(w);
    }
    ~countdown();
    countdown(const countdown&) = delete;
    countdown& operator=(const countdown&) = delete;

    void add(std::ptrdiff_t n) noexcept;
    /// Subtracts n >= 0. A latch only goes down.
    void take(std::ptrdiff_t n) noexcept;
    /// Does take() and then wait(). If the caller is already asked to stop, nothing is taken.
    /// \returns  as wait(). \parks \throws cancelled
    bool take_and_wait(std::ptrdiff_t n, time_point until, const std::stop_token*);
    bool is_zero() const noexcept;
    /// \returns  false if the time passed, or the token was stopped, before the count was zero.
    ///           \parks \throws cancelled
    bool wait(time_point until, const std::stop_token*) const;

private:
    [[noreturn]] static void begins_below_zero(what) noexcept;
    [[noreturn]] void goes_below_zero() const noexcept;
    waiting_room& room() const noexcept;

    mutable opaque<3 * sizeof(void*)> room_;
    std::ptrdiff_t count_;  // guarded by the room's lock
    const what what_;
};

}  // namespace weft::detail

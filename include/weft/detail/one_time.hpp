// one_time.hpp - something that is done once, by one of many who come, and the others wait: what once_flag and ivar are.
//
//  state    leaves by
//  open     begin -> running
//  running  finish -> done | give_up -> open
//  done     -
//
// Invariants
//   Y1  One is at it at a time, from a begin() that returned true to its finish() or give_up().
//   Y2  Who sees `done` sees what was done before finish(), and finish() does not touch the object afterwards.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <stop_token>

#include <weft/detail/clock.hpp>
#include <weft/detail/opaque.hpp>

namespace weft::detail {

class one_time {
public:
    enum class what : std::uint8_t { once, ivar };

    explicit constexpr one_time(what w) noexcept : what_(w) {}
    ~one_time();
    one_time(const one_time&) = delete;
    one_time& operator=(const one_time&) = delete;

    bool is_done() const noexcept;
    /// \returns  true if it is the caller's to do.
    [[nodiscard]] bool begin() noexcept;
    void finish() noexcept;
    /// It was not done: the oldest waiter of await_turn() may try.
    void give_up() noexcept;

    /// begin(), after waiting for whoever is at it. Never interrupted.
    ///
    /// \returns  true if it is the caller's to do; false: it is done.
    /// \parks    while somebody else is at it.
    bool await_turn() noexcept;
    /// Waits until it is done.
    ///
    /// \returns  false if the time has passed, or the token was stopped, first.
    /// \parks \throws cancelled
    bool await_done(time_point until, const std::stop_token*) const;

private:
    mutable opaque<4 * sizeof(void*)> state_;  // zeros: open, nobody waits
    const what what_;
};

}  // namespace weft::detail

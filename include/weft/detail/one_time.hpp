// one_time.hpp - one of many callers does something once, and the others wait: once_flag and ivar.
//
//  state    leaves by
//  open     begin -> running
//  running  finish -> done | give_up -> open
//  done     -
//
// Invariants
//   ONE_TIME-1  One caller at a time holds the turn, from a begin() that returned true to its
//               finish() or give_up().
//   ONE_TIME-2  A caller that sees `done` sees what was done before finish(); finish() does not
//               touch the object afterwards.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <stop_token>

#include <weft/detail/clock.hpp>
#include <weft/detail/opaque.hpp>

namespace weft::detail {

class WEFT_EXPORT one_time {
public:
    enum class what : std::uint8_t { once, ivar };

    explicit constexpr one_time(what w) noexcept : what_(w) {}
    ~one_time();
    one_time(const one_time&) = delete;
    one_time& operator=(const one_time&) = delete;

    bool is_done() const noexcept;
    /// \returns  true if the caller now has the turn.
    [[nodiscard]] bool begin() noexcept;
    void finish() noexcept;
    /// Ends the turn without success; the oldest waiter of await_turn() may try next.
    void give_up() noexcept;

    /// Waits until no other caller has the turn, then does begin(). Never interrupted.
    ///
    /// \returns  true if the caller now has the turn; false if it is done.
    /// \parks    while another caller has the turn.
    bool await_turn() noexcept;
    /// Waits until it is done.
    ///
    /// \returns  false if the time passed, or the token was stopped, first.
    /// \parks \throws cancelled
    bool await_done(time_point until, const std::stop_token*) const;

private:
    mutable opaque<4 * sizeof(void*)> state_;  // all zero: open, and no waiters
    const what what_;
};

}  // namespace weft::detail

// no_limit.hpp - the one spelling of "no limit" in options.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <concepts>
#include <limits>

namespace weft {

namespace detail {

/// Becomes the largest value of the number or time it is assigned to.
struct no_limit_value {
    template <std::unsigned_integral N>
        requires(!std::same_as<N, bool>)
    constexpr operator N() const noexcept {
        return std::numeric_limits<N>::max();
    }
    template <class Rep, class Period>
    constexpr operator std::chrono::duration<Rep, Period>() const noexcept {
        return std::chrono::duration<Rep, Period>::max();
    }
    template <std::unsigned_integral N>
        requires(!std::same_as<N, bool>)
    friend constexpr bool operator==(N n, no_limit_value none) noexcept {
        return n == static_cast<N>(none);
    }
    template <class Rep, class Period>
    friend constexpr bool operator==(const std::chrono::duration<Rep, Period>& d, no_limit_value) noexcept {
        return d == d.max();
    }
};

}  // namespace detail

/// No limit, for every option that is a limit: of a number, of bytes, or of time.
///
///     weft::runtime rt({.max_fibers = weft::no_limit});
///     server.listen({.port = 8080}, {.idle_timeout = weft::no_limit});  // a weft::http::server
///
/// It is the largest value of the option's type, so `weft::forever` (of time) and `weft::unbounded`
/// (of a capacity) say the same. Where the comment of an option says that zero, too, means no
/// limit, both are good; elsewhere zero is a limit as any other, or is refused. An option that
/// refuses no_limit says so. `n == weft::no_limit` asks whether a number or a time is that value.
///
/// It is for options and capacities only, whose type is known: a wait without a limit is the form
/// without one, receive(x) and not receive_for(x, no_limit); a shield without a limit is `shield`,
/// and code without a deadline needs no with_timeout(). Where a duration must be named, `forever`
/// is good.
inline constexpr detail::no_limit_value no_limit;

}  // namespace weft

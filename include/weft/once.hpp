// once.hpp - runs a function once, for the first caller that needs its effect; others wait for it.
#pragma once

#include <functional>
#include <utility>

#include <weft/detail/one_time.hpp>

namespace weft {

/// Remembers whether call_once() has run its function, as std::once_flag does.
///
///     weft::once_flag opened;
///     weft::call_once(opened, [] { open_log(); });  // from any number of fibers: runs once
class once_flag {
public:
    constexpr once_flag() noexcept : state_(detail::one_time::what::once) {}
    once_flag(const once_flag&) = delete;
    once_flag& operator=(const once_flag&) = delete;

private:
    template <class F, class... A>
    friend void call_once(once_flag&, F&&, A&&...);
    detail::one_time state_;
};

/// Runs f(args...) unless a call with this flag has already done so, and returns when one has. If f
/// throws, its caller gets the exception, and the next caller tries. Neither stop nor deadline
/// interrupts the wait; f itself sees them as usual. An f that calls call_once with the same flag
/// stops the program.
///
/// \parks   while another fiber or thread runs its f. A plain thread sleeps instead.
/// \throws  what f throws.
/// \orders  the call of f that returned happens before the return.
/// \cost    once it is done: one load.
template <class F, class... A>
void call_once(once_flag& flag, F&& f, A&&... args) {
    if (flag.state_.is_done() || !flag.state_.await_turn()) return;
    try {
        std::invoke(std::forward<F>(f), std::forward<A>(args)...);
    } catch (...) {
        flag.state_.give_up();
        throw;
    }
    flag.state_.finish();
}

}  // namespace weft

// timed_wait.hpp - the forms of wait() that wait_group, latch and event share.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <stop_token>

#include <weft/detail/timeouts.hpp>

namespace weft::detail {

/// `Self` has wait_until_over(time_point, const std::stop_token*), which returns false if the time
/// or the token came first. All waits:
///
/// \parks   until what they wait for has happened. A plain thread sleeps instead.
/// \throws  weft::cancelled if this fiber is asked to stop first.
/// \orders  what the wait was for happens before the return.
template <class Self>
class timed_wait {
public:
    void wait() const { static_cast<void>(self().wait_until_over(never, nullptr)); }

    /// \returns  true if it happened in time.
    template <class Rep, class Period>
    bool wait_for(const std::chrono::duration<Rep, Period>& d) const {
        return self().wait_until_over(deadline_in(d), nullptr);
    }
    template <class Clock, class Duration>
    bool wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
        return self().wait_until_over(deadline_at(t), nullptr);
    }

    /// These forms also end when `token` is stopped.
    ///
    /// \returns  true if it happened before that.
    bool wait(std::stop_token token) const { return self().wait_until_over(never, &token); }
    template <class Rep, class Period>
    bool wait_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d) const {
        return self().wait_until_over(deadline_in(d), &token);
    }
    template <class Clock, class Duration>
    bool wait_until(std::stop_token token, const std::chrono::time_point<Clock, Duration>& t) const {
        return self().wait_until_over(deadline_at(t), &token);
    }

protected:
    constexpr timed_wait() = default;
    ~timed_wait() = default;

private:
    const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

}  // namespace weft::detail

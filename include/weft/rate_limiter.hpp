// rate_limiter.hpp - allows so many calls in so much time: a bucket of tokens, filled steadily.
//
// Rules
//   1  The bucket begins full, with `burst` tokens. While it is not full, `tokens` tokens are added
//      in each `per`, evenly. In any time span t at most burst + tokens * t / per are taken.
//   2  Callers are served in order of arrival, whatever number of tokens each wants. While one
//      waits, try_acquire() fails.
//   3  An acquire that was stopped or timed out has taken no token, and the next caller goes on at
//      once.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <stop_token>

#include <weft/detail/timeouts.hpp>
#include <weft/semaphore.hpp>

namespace weft {

/// How many tokens are added in how much time, and how many the bucket holds. See
/// docs/guide/7-meeting-points.md.
struct rate {
    double tokens = 1;  ///< more than 0
    std::chrono::nanoseconds per = std::chrono::seconds(1);  ///< more than 0
    std::size_t burst = 1;  ///< how many may be taken at once after a pause; at least 1
};

/// Makes its callers wait so that they keep to a rate.
///
///     weft::rate_limiter rate({.tokens = 1000, .per = 1s, .burst = 20});
///     rate.acquire();  // parks until there is a token
///     send_request();
///
/// See docs/guide/7-meeting-points.md.
class WEFT_EXPORT rate_limiter {
public:
    /// \throws std::invalid_argument that names what is wrong with `r`
    explicit rate_limiter(const rate& r);
    rate_limiter(const rate_limiter&) = delete;
    rate_limiter& operator=(const rate_limiter&) = delete;

    /// Takes n tokens; n must be at most `burst`.
    ///
    /// \parks   until there are n tokens and all earlier callers have theirs. A plain thread sleeps
    ///          instead.
    /// \throws  std::invalid_argument if n is more than `burst`, because there will never be so
    ///          many; cancelled
    void acquire(std::size_t n = 1) { static_cast<void>(take(n, detail::never)); }
    /// Takes n tokens if they come in time.
    /// \returns false as soon as it is known that they will not. \parks \throws as acquire()
    template <class Rep, class Period>
    [[nodiscard]] bool acquire_for(const std::chrono::duration<Rep, Period>& d, std::size_t n = 1) {
        return take(n, detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool acquire_until(const std::chrono::time_point<Clock, Duration>& t, std::size_t n = 1) {
        return take(n, detail::deadline_at(t));
    }
    /// These forms also give up when `token` is stopped.
    [[nodiscard]] bool acquire(std::stop_token token, std::size_t n = 1) { return take(n, detail::never, &token); }
    template <class Rep, class Period>
    [[nodiscard]] bool acquire_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d, std::size_t n = 1) {
        return take(n, detail::deadline_in(d), &token);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool acquire_until(std::stop_token token, const std::chrono::time_point<Clock, Duration>& t,
                                     std::size_t n = 1) {
        return take(n, detail::deadline_at(t), &token);
    }
    /// Takes n tokens if they are there and no caller waits.
    /// \returns whether it took them. \throws std::invalid_argument as acquire()
    [[nodiscard]] bool try_acquire(std::size_t n = 1);

private:
    using time_point = detail::time_point;

    void check(std::size_t n) const;
    bool take(std::size_t n, time_point until, const std::stop_token* token = nullptr);
    std::chrono::nanoseconds missing(std::size_t n);

    const double nanoseconds_each_;
    const std::size_t burst_;
    binary_semaphore turn_{1};  // only its holder touches what follows
    // How much of the bucket is empty at `as_of_`, as nanoseconds of filling.
    double empty_;
    time_point as_of_;
};

}  // namespace weft

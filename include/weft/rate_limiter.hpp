// rate_limiter.hpp - so many in so much time: a bucket of tokens that is filled steadily.
//
// Rules
//   1  It begins full, with `burst` tokens. `tokens` of them are added in `per`, evenly, while it is not full. In any time span t at most
//      burst + tokens * t / per are taken.
//   2  Callers are served in order of arrival, whatever number of tokens each wants. While one
//      waits, try_acquire() fails.
//   3  An acquire that was stopped or timed out has taken no token, and the next caller goes on at
//      once.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>

#include <weft/detail/timeouts.hpp>
#include <weft/semaphore.hpp>

namespace weft {

struct rate {
    double tokens = 1;  ///< more than 0
    std::chrono::nanoseconds per = std::chrono::seconds(1);  ///< more than 0
    std::size_t burst = 1;  ///< how many may be taken at once after a rest, 1 and more
};

class rate_limiter {
public:
    /// \throws std::invalid_argument naming what is wrong with `r`
    explicit rate_limiter(const rate& r);
    rate_limiter(const rate_limiter&) = delete;
    rate_limiter& operator=(const rate_limiter&) = delete;

    /// Takes n tokens, at most `burst`.
    ///
    /// \parks   until there are n tokens and all earlier callers have theirs. A plain thread sleeps instead.
    /// \throws  std::invalid_argument: n is more than `burst`, so there will never be so many; cancelled
    void acquire(std::size_t n = 1) { static_cast<void>(take(n, detail::never)); }
    /// \returns false if n tokens will not be there in time, as soon as that is known. \parks \throws as acquire()
    template <class Rep, class Period>
    bool acquire_for(const std::chrono::duration<Rep, Period>& d, std::size_t n = 1) {
        return take(n, detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    bool acquire_until(const std::chrono::time_point<Clock, Duration>& t, std::size_t n = 1) {
        return take(n, detail::deadline_at(t));
    }
    /// \returns whether there were n tokens and nobody waited. \throws std::invalid_argument as acquire()
    bool try_acquire(std::size_t n = 1);

private:
    using time_point = detail::time_point;

    void check(std::size_t n) const;
    bool take(std::size_t n, time_point until);
    std::chrono::nanoseconds missing(std::size_t n);

    const double nanoseconds_each_;
    const std::size_t burst_;
    binary_semaphore turn_{1};  // its holder alone touches what follows
    double empty_;  // how much of the bucket is empty, in nanoseconds of filling, at `as_of_`
    time_point as_of_;
};

}  // namespace weft

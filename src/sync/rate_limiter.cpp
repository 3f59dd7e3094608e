#include <weft/rate_limiter.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <weft/event.hpp>
#include <weft/fiber.hpp>

namespace weft {
namespace {

double checked_nanoseconds_each(const rate& r) {
    if (!(r.tokens > 0) || !std::isfinite(r.tokens)) throw std::invalid_argument("weft: rate::tokens must be more than 0");
    if (r.per <= r.per.zero()) throw std::invalid_argument("weft: rate::per must be more than 0");
    if (r.burst == 0) throw std::invalid_argument("weft: rate::burst must be 1 or more");
    return static_cast<double>(r.per.count()) / r.tokens;
}

/// \returns false if the token was stopped first. \parks \throws cancelled
bool sleep_until(detail::time_point when, const std::stop_token* token) {
    if (!token) {
        this_fiber::sleep_until(when);
        return true;
    }
    const event never_set;
    static_cast<void>(never_set.wait_until(*token, when));
    return !token->stop_requested();
}

class taken_turn {
public:
    explicit taken_turn(binary_semaphore& s) noexcept : s_(s) {}
    ~taken_turn() { s_.release(); }
    taken_turn(const taken_turn&) = delete;
    taken_turn& operator=(const taken_turn&) = delete;

private:
    binary_semaphore& s_;
};

}  // namespace

rate_limiter::rate_limiter(const rate& r)
    : nanoseconds_each_(checked_nanoseconds_each(r)), burst_(r.burst), empty_(0), as_of_(detail::clock::now()) {}

void rate_limiter::check(std::size_t n) const {
    if (n > burst_)
        throw std::invalid_argument("weft: rate_limiter: " + std::to_string(n) + " tokens are more than its burst of " +
                                    std::to_string(burst_));
}

// Called by the holder of the turn. Takes n tokens if there are enough, and returns 0; otherwise
// returns how long it takes until there are.
std::chrono::nanoseconds rate_limiter::missing(std::size_t n) {
    const auto now = detail::clock::now();
    empty_ = std::max(0.0, empty_ - static_cast<double>((now - as_of_).count()));
    as_of_ = now;
    const double after = empty_ + static_cast<double>(n) * nanoseconds_each_;
    const double excess = after - static_cast<double>(burst_) * nanoseconds_each_;
    // half a nanosecond, which is less than the clock can show
    constexpr double rounding = 0.5;
    if (excess > rounding) return detail::saturated(std::chrono::duration<double, std::nano>(std::ceil(excess)));
    empty_ = after;
    return {};
}

bool rate_limiter::try_acquire(std::size_t n) {
    check(n);
    if (!turn_.try_acquire()) return false;
    const taken_turn mine(turn_);
    return missing(n) == std::chrono::nanoseconds::zero();
}

bool rate_limiter::take(std::size_t n, time_point until, const std::stop_token* token) {
    check(n);
    if (!(token ? turn_.try_acquire_until(*token, until) : turn_.try_acquire_until(until))) return false;
    const taken_turn mine(turn_);
    for (;;) {
        const auto wait = missing(n);
        if (wait == wait.zero()) return true;
        const auto when = detail::deadline_after(wait);
        if (when > until) return false;
        if (!sleep_until(when, token)) return false;
    }
}

}  // namespace weft

#include <weft/ticker.hpp>

#include <stdexcept>

#include <weft/fiber.hpp>

namespace weft::detail {
namespace {

/// The first time on the grid of `period` that lies after `now`.
time_point next_tick(time_point last, std::chrono::nanoseconds period, time_point now) noexcept {
    if (period >= never - last) return never;
    if (last + period > now) return last + period;
    return now + (period - (now - last) % period);
}

}  // namespace

channel_ref make_ticker_channel() {
    channel_ref made(make_channel(typed_element<steady_time_point>::operations, 1));
    keep_channel(made.core());
    return made;
}

std::chrono::nanoseconds checked_period(std::chrono::nanoseconds d) {
    if (d <= std::chrono::nanoseconds::zero()) throw std::invalid_argument("weft::every: the period must be positive");
    return d;
}

void start_ticker(scheduler& where, ticker t) {
    start_fiber<start_as::detached>(where, never_inline(where, {.name = "ticker"}), std::move(t));
}

void ticker::operator()() const {
    try {
        const bool once = period == std::chrono::nanoseconds::zero();
        for (auto next = first; !await_abandoned(to.core(), next);) {
            auto now = clock::now();
            // full: the last tick was not taken yet
            channel_try_send(to.core(), &now);
            next = once ? never : next_tick(next, period, now);
        }
    } catch (const cancelled&) {  // the runtime stops
        channel_close(to.core());
        throw;
    }
}

}  // namespace weft::detail

#include <weft/retry.hpp>

#include <algorithm>
#include <cmath>

#include <weft/fiber.hpp>
#include <weft/simulation.hpp>

namespace weft::detail {

std::chrono::nanoseconds attempts::pause() const {
    using pause_time = std::chrono::duration<double, std::nano>;
    constexpr std::uint32_t steps = 1u << 20;  // chosen: a millionth is fine enough
    const double longest = pause_time(options_.longest_pause).count();
    const double grown = pause_time(options_.first_pause).count() * std::pow(options_.growth, static_cast<double>(made_ - 1));
    // also right if the growth overflows
    const double most = grown < longest ? grown : longest;
    const double left_to_chance = std::clamp(options_.jitter, 0.0, 1.0) * draw(steps) / steps;
    return saturated(pause_time(most * (1 - left_to_chance)));
}

void attempts::failed(const std::exception_ptr& failure) {
    ++made_;
    if (made_ >= options_.attempts || (options_.worth_it && !options_.worth_it(failure))) std::rethrow_exception(failure);
    const auto next = pause();
    if (options_.on_failure) options_.on_failure(made_, failure, next);
    this_fiber::sleep_for(next);
}

}  // namespace weft::detail

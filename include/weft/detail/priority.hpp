// priority.hpp - the classes of fibers, and what an attribute says of them.
#pragma once

#include <cstdint>

namespace weft {

/// The share of a worker a fiber has while fibers of other classes are ready there as well. Of 73 dispatches 64 go to high ones, 8 to
/// normal ones and 1 to a low one; what a class does not use the others have. Ready fibers of the same class take their turns as ever.
enum class priority : std::uint8_t { high, normal, low };

namespace detail {

/// A priority that was chosen, or none: a fiber then has that of the fiber which spawns it, and the normal one if a plain thread does.
class priority_choice {
public:
    constexpr priority_choice() noexcept = default;
    constexpr priority_choice(priority p) noexcept : chosen_(static_cast<std::uint8_t>(p) + 1) {}
    constexpr operator priority() const noexcept { return else_of(priority::normal); }

    constexpr bool is_made() const noexcept { return chosen_ != 0; }
    constexpr priority else_of(priority p) const noexcept { return is_made() ? static_cast<priority>(chosen_ - 1) : p; }

private:
    std::uint8_t chosen_ = 0;
};

}  // namespace detail
}  // namespace weft

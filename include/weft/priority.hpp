// priority.hpp - the priorities of fibers, and the attribute that chooses one.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstdint>

namespace weft {

/// The share of a worker that a fiber gets while fibers of other priorities are ready there too. Of
/// 73 dispatches, 64 go to high, 8 to normal and 1 to low; a share that one class does not use goes
/// to the others. Ready fibers of the same class take turns. Example:
/// `weft::spawn({.priority = weft::priority::low}, index)`.
enum class priority : std::uint8_t { high, normal, low };

namespace detail {

/// A chosen priority, or none. Without one a fiber gets the priority of the fiber that spawns it;
/// spawned by a plain thread, it is normal.
class priority_choice {
public:
    constexpr priority_choice() noexcept = default;
    constexpr priority_choice(priority p) noexcept : chosen_(static_cast<std::uint8_t>(p) + 1) {}
    constexpr operator priority() const noexcept { return else_of(priority::normal); }

    [[nodiscard]] constexpr bool is_made() const noexcept { return chosen_ != 0; }
    [[nodiscard]] constexpr priority else_of(priority p) const noexcept {
        return is_made() ? static_cast<priority>(chosen_ - 1) : p;
    }

private:
    std::uint8_t chosen_ = 0;
};

}  // namespace detail
}  // namespace weft

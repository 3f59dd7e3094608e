// registry.hpp - the benchmarks there are, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bench {

class session;

struct benchmark {
    std::string_view name;
    std::string_view about;                ///< one line; begins with what --n counts
    std::uint64_t most;                    ///< the largest --n that makes sense
    void (*run)(session&);                 ///< null if it is not built
    std::string_view missing = {};         ///< what it would need to be built
    bool scales = false;                   ///< all workers share one piece of work, so that more of them may be faster
    bool apart = false;                    ///< needs servers that few machines have: `all` leaves it out
};

/// All of them, in the order in which `all` runs them.
std::span<const benchmark> benchmarks() noexcept;
/// Null if there is none of that name.
const benchmark* find_benchmark(std::string_view name) noexcept;

}  // namespace bench

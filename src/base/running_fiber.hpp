// running_fiber.hpp - lets a library that is loaded beside weft ask which fiber runs on the calling thread (src/lockcheck).
#pragma once

#include <array>
#include <cstdint>

namespace weft::detail {

struct running_fiber {
    std::uint64_t id;  // 0: none
    const char* file;  // where it was spawned
    unsigned line;  // 0: unknown
    std::array<char, 48> name;  // ends with a zero; may be empty
};

/// Of the fiber whose body runs, also if it runs inside another that joins it. Callable anywhere, with any lock held.
using fiber_asker = running_fiber (*)() noexcept;

/// What such a library exports, as weft_who_runs: takes the second for the first, if that is what it has. Called when a runtime starts,
/// with none and a way to ask, and the other way round before a library that has weft inside is closed: of several, the first is asked.
using fiber_asker_taker = void (*)(fiber_asker, fiber_asker) noexcept;

}  // namespace weft::detail

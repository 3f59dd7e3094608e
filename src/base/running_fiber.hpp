// running_fiber.hpp - lets a library that is loaded beside weft ask which fiber the thread runs.
#pragma once

#include <array>
#include <cstdint>

namespace weft::detail {

struct running_fiber {
    std::uint64_t id;  // 0: no fiber
    const char* file;  // where it was spawned
    unsigned line;  // 0: unknown
    std::array<char, 48> name;  // ends with a zero; may be empty
};

/// Describes the fiber whose body runs on the calling thread, even if it runs inside another fiber
/// that joins it. Callable anywhere, with any lock held. The lock checker uses it (src/lockcheck).
using fiber_asker = running_fiber (*)() noexcept;

/// The function that such a library exports as weft_who_runs: it replaces the asker it has by the
/// second argument, if it has the first. A starting runtime calls it with null and an asker. A
/// library that contains weft calls it with the two exchanged before it is closed. So of several
/// copies of weft, the first one is asked.
using fiber_asker_taker = void (*)(fiber_asker, fiber_asker) noexcept;

}  // namespace weft::detail

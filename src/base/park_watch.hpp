// park_watch.hpp - lets a library that is loaded beside weft hear of every wait of a fiber before it begins (src/lockcheck).
//
// It costs nothing where there is none: a fiber's waits take the way of its first one, which is cold, only while somebody watches.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/atomic.hpp"

namespace weft::detail {

struct parking_fiber {
    std::string_view name;  // may be empty
    std::uint64_t id;
    const char* file;  // where it was spawned
    unsigned line;  // 0: unknown
    std::string_view reason;
};

/// What such a library exports, as weft_about_to_park. On the fiber, perhaps with a lock of weft's held: it must be short and call no
/// weft function.
using park_watcher = void (*)(const parking_fiber&) noexcept;

/// Found when a runtime starts.
inline atomic<park_watcher> watcher_of_parks{nullptr};

}  // namespace weft::detail

// park_watch.hpp - lets a library that is loaded beside weft observe each wait of a fiber.
//
// The lock checker (src/lockcheck) hears of a wait before it begins. This costs nothing without
// such a library: only while a watcher exists do all waits of a fiber take the cold path of its
// first wait.
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
    bool is_thread;  // it has an identity, and so it owns the locks that it holds
};

/// The function that such a library exports as weft_about_to_park. It runs on the fiber, possibly
/// with a lock of weft's held, so it must be short and must not call weft.
using park_watcher = void (*)(const parking_fiber&) noexcept;

/// Whether the watcher has to hear of a wait of the calling fiber; under the same rules.
using park_filter = bool (*)();

/// Null: it hears of all. Set before the watcher.
inline atomic<park_filter> filter_of_parks{nullptr};

/// Looked up when a runtime starts.
inline atomic<park_watcher> watcher_of_parks{nullptr};

}  // namespace weft::detail

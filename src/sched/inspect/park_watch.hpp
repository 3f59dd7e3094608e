// park_watch.hpp - the scheduler's side of base/park_watch.hpp: finds a watching library, tells it.
#pragma once

#include <weft/detail/export.hpp>

#include "base/park_watch.hpp"
#include "fiber/control_block.hpp"
#include "fiber/wait_kind.hpp"

namespace weft::detail {

/// Looks once whether a library that watches parks is loaded. Called before the first fiber starts.
void find_park_watcher() noexcept;

/// Makes `watcher` the function that is told of each wait for which `filter` returns true; null: none,
/// or of all. \returns false, and does nothing, if a library that watches parks is loaded.
WEFT_EXPORT bool watch_parks(park_watcher watcher, park_filter filter) noexcept;

inline bool is_watched() noexcept { return watcher_of_parks.load(relaxed) != nullptr; }

/// Tells the library that the calling fiber is about to wait or to yield.
[[gnu::cold]] void tell_watcher(const control_block& self, const wait_kind&) noexcept;

}  // namespace weft::detail

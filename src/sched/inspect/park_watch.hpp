// park_watch.hpp - the scheduler's side of base/park_watch.hpp: finding the library that watches, and telling it.
#pragma once

#include "base/park_watch.hpp"
#include "fiber/control_block.hpp"
#include "fiber/wait_kind.hpp"

namespace weft::detail {

/// Looks once whether such a library is loaded. Before the first fiber.
void find_park_watcher() noexcept;

inline bool is_watched() noexcept { return watcher_of_parks.load(relaxed) != nullptr; }

/// The calling fiber is about to wait, or to yield.
[[gnu::cold]] void tell_watcher(const control_block& self, const wait_kind&) noexcept;

}  // namespace weft::detail

// table.hpp - what weft has handed to this library, and which calls it concerns.
//
// TABLE-1  A call keeps the table that it found, at any time and on any thread: neither weft nor this library is
//          unmapped once it has been handed over.
#pragma once

#include "base/atomic.hpp"
#include "base/hook_table.hpp"

namespace weft::hooks {

using detail::hook_call;
using detail::hook_table;

/// Null: no runtime with hooks has started.
inline detail::atomic<const hook_table*> table{nullptr};

/// Whether this address is in an object file that is to be left alone.
bool is_left_alone(const void* caller) noexcept;

/// The table, if the calling fiber is to park in calls from `caller`; else null, and the call is plain.
[[gnu::always_inline]] inline const hook_table* table_for(const void* caller) noexcept {
    // Pairs with weft_take_hooks().
    const auto* const t = table.load(detail::acquire);
    return t && t->in_fiber() && !is_left_alone(caller) ? t : nullptr;
}

}  // namespace weft::hooks

// select_core.hpp - a select as the compiled core sees it: entries, one per case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include <weft/detail/channel_core.hpp>

namespace weft::detail {

struct control_block;

enum class select_kind : std::uint8_t { disabled, receive, send, timeout, otherwise, stop, join };

struct select_entry {
    select_kind kind = select_kind::disabled;
    channel_core* channel = nullptr;         // send, receive
    void* element = nullptr;                 // send: the value; receive: the place, which stays empty if closed
    time_point until = never;                // timeout
    const std::stop_token* token = nullptr;  // stop
    control_block* fiber = nullptr;          // join
    std::uint32_t turn = 0;                  // the core's
};

/// What the core keeps during a select lies in its caller's frame: one of each per entry.
using select_order = select_entry*;
struct select_registration {
    alignas(std::max_align_t) std::byte bytes[144];
};

/// Waits until a case can be done, does it, and returns its index.
///
/// \parks   unless a case is ready or there is an `otherwise`.
/// \throws  cancelled; channel_closed if the chosen case is a send to a closed channel; what an element's move throws.
std::size_t select_core(std::span<select_entry>, select_order*, select_registration*);

}  // namespace weft::detail

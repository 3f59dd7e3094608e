// select_core.hpp - a select as the compiled core sees it: entries, one per case.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include <weft/detail/channel_core.hpp>

namespace weft::detail {

struct control_block;
class waiter;

/// Something of a higher layer that becomes ready, such as a descriptor; that layer implements it.
/// There is one object per case: a select calls open() first and close() last.
class WEFT_EXPORT select_watch {
public:
    enum class state : std::uint8_t {
        idle,  ///< not ready; enlist() says when to look again
        /// Not ready, and no event would say when to look again.
        unwatched,
        ready,
    };

    virtual void open() noexcept = 0;
    /// Checks the state. Called without a lock, so it may make a system call.
    virtual state look() noexcept = 0;
    /// Links a waiter, which is claimed at the first event after the last look. \returns false if
    /// there has been an event already.
    [[nodiscard]] virtual bool enlist(waiter&) noexcept = 0;
    virtual void delist(waiter&) noexcept = 0;
    /// When it becomes ready by itself, as known at the last look.
    virtual time_point ready_at() const noexcept { return never; }
    virtual void close() noexcept = 0;

protected:
    ~select_watch() = default;
};

enum class select_kind : std::uint8_t { disabled, receive, send, timeout, otherwise, stop, join, watch };

struct select_entry {
    select_kind kind = select_kind::disabled;
    // For a watch; used by the core.
    select_watch::state seen = select_watch::state::idle;
    std::uint32_t turn = 0;  // used by the core
    channel_core* channel = nullptr;                       // send, receive
    // send: the value. receive: the receiver's place, which stays empty if the channel is closed.
    void* element = nullptr;
    // send, receive: where the result goes. Null: select throws if a send is chosen that failed.
    channel_op* result = nullptr;
    time_point until = never;                              // timeout
    const std::stop_token* token = nullptr;                // stop
    control_block* fiber = nullptr;                        // join
    select_watch* watch = nullptr;                         // watch
};

/// The core's state during a select, in the caller's frame: one of each per entry.
using select_order = select_entry*;
struct select_registration {
    alignas(std::max_align_t) std::byte bytes[144];
};

/// Waits until a case can be done, does it, and returns its index.
///
/// \parks   unless a case is ready or there is an `otherwise`.
/// \throws  cancelled; channel_closed if the chosen case is a send to a closed channel; what an
///          element's move throws.
WEFT_EXPORT std::size_t select_core(std::span<select_entry>, select_order*, select_registration*);

/// The first statement of a select that begins with select_now(). \throws cancelled
WEFT_EXPORT void enter_select();
/// Does this one case if that is possible without waiting; never a timeout or an `otherwise`.
/// \throws what select_core() throws, except cancelled
WEFT_EXPORT bool select_now(select_entry&);

}  // namespace weft::detail

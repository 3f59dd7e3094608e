// select_core.hpp - a select as the compiled core sees it: entries, one per case.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include <weft/detail/channel_core.hpp>

namespace weft::detail {

struct control_block;
class waiter;

/// A thing of a higher layer that becomes ready, such as a descriptor; that layer implements it. One object per case: a select calls
/// open() first and close() last.
class select_watch {
public:
    enum class state : std::uint8_t {
        idle,       ///< not ready; enlist() says when to look again
        unwatched,  ///< not ready, and nobody would say when
        ready,
    };

    virtual void open() noexcept = 0;
    /// Looks. Called without a lock: it may make a system call.
    virtual state look() noexcept = 0;
    /// Links a waiter, to be claimed at the first event after the last look. False: there has been one.
    [[nodiscard]] virtual bool enlist(waiter&) noexcept = 0;
    virtual void delist(waiter&) noexcept = 0;
    virtual void close() noexcept = 0;

protected:
    ~select_watch() = default;
};

enum class select_kind : std::uint8_t { disabled, receive, send, timeout, otherwise, stop, join, watch };

struct select_entry {
    select_kind kind = select_kind::disabled;
    select_watch::state seen = select_watch::state::idle;  // watch; the core's
    std::uint32_t turn = 0;                                // the core's
    channel_core* channel = nullptr;                       // send, receive
    void* element = nullptr;                               // send: the value; receive: the place, which stays empty if closed
    time_point until = never;                              // timeout
    const std::stop_token* token = nullptr;                // stop
    control_block* fiber = nullptr;                        // join
    select_watch* watch = nullptr;                         // watch
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

/// The first statement of a select that begins with select_now(). \throws cancelled
void enter_select();
/// Does this one case, if that is possible without waiting. Never a timeout or an `otherwise`. \throws as select_core(), but cancelled
bool select_now(select_entry&);

}  // namespace weft::detail

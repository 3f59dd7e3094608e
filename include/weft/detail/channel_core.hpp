// channel_core.hpp - what channel<T> knows of its core, which is src/sync/channel_core.hpp.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/channel_op.hpp>
#include <weft/detail/clock.hpp>
#include <weft/detail/export.hpp>
#include <weft/overflow.hpp>

namespace weft {

namespace detail {

/// The operations of an element type that the core needs.
struct element_operations {
    std::size_t bytes;
    std::size_t alignment;
    // Small, and the functions below run no user code.
    bool trivial;
    void (*move)(void* to, void* from, const element_operations&);  // constructs in raw memory
    // Moves to the receiver's place, whose form only the receiver knows.
    void (*deliver)(void* to, void* from, const element_operations&);
    void (*destroy)(void*) noexcept;
    // For elements of which only the maker of the channel knows what they are; both may be null.
    // Called in place of destroy() for a value that is left when the channel ends.
    void (*drop)(void* element, const element_operations&) noexcept = nullptr;
    // Called when the channel has ended, and needs its operations no longer.
    void (*end)(const element_operations&) noexcept = nullptr;
};

/// The operations for elements of channel<T>; a receiver's place is a std::optional<T>.
template <class T>
struct typed_element {
    static_assert(std::is_nothrow_destructible_v<T>);

    static void move(void* to, void* from, const element_operations&) { ::new (to) T(std::move(*static_cast<T*>(from))); }
    static void deliver(void* to, void* from, const element_operations&) {
        static_cast<std::optional<T>*>(to)->emplace(std::move(*static_cast<T*>(from)));
    }
    static void destroy(void* element) noexcept { static_cast<T*>(element)->~T(); }

    // chosen: one cache line copied with the lock held
    static constexpr std::size_t trivial_bytes = 64;
    static constexpr bool trivial =
        std::is_trivially_copyable_v<T> && std::is_trivially_move_constructible_v<T> && sizeof(T) <= trivial_bytes;
    static constexpr element_operations operations{sizeof(T), alignof(T), trivial, move, deliver, destroy};
};

class channel_core;

/// Makes a channel. The result counts as one handle. The operations must exist until the channel
/// has ended.
/// \throws  std::invalid_argument for drop_oldest with capacity 0, which has no oldest value.
WEFT_EXPORT channel_core* make_channel(const element_operations&, std::size_t capacity, overflow when_full = overflow::park);
WEFT_EXPORT void add_handle(channel_core&) noexcept;
WEFT_EXPORT void drop_handle(channel_core&) noexcept;

/// A channel closes when its last sender is dropped.
WEFT_EXPORT void add_sender(channel_core&) noexcept;
WEFT_EXPORT void drop_sender(channel_core&) noexcept;

/// Called by the creator of the channel, before there is any other handle. A kept channel closes
/// when its keeper's handle is the only one left.
WEFT_EXPORT void keep_channel(channel_core&) noexcept;
/// Waits until the keeper's handle is the only one. Only the keeper calls it, one call at a time.
/// \returns false if `until` passed first. \parks \throws cancelled
WEFT_EXPORT bool await_abandoned(channel_core&, time_point until);

// The operations of channel<T>. `from` is a T, moved from only when the result is done; `to` is a
// receiver's place.
// done, closed, timeout; full if the channel does not let it wait (longer)
WEFT_EXPORT channel_op channel_send(channel_core&, void* from, time_point until);
WEFT_EXPORT channel_op channel_receive(channel_core&, void* to, time_point until);  // done, closed, timeout
WEFT_EXPORT channel_op channel_try_send(channel_core&, void* from);  // done, closed, full
WEFT_EXPORT channel_op channel_try_receive(channel_core&, void* to);  // done, closed, empty
WEFT_EXPORT void channel_close(channel_core&) noexcept;
WEFT_EXPORT bool channel_is_closed(channel_core&) noexcept;
WEFT_EXPORT std::size_t channel_size(channel_core&) noexcept;
WEFT_EXPORT std::size_t channel_capacity(channel_core&) noexcept;
WEFT_EXPORT const element_operations& channel_element(const channel_core&) noexcept;

WEFT_EXPORT [[noreturn]] void throw_channel_closed();
/// Called with the result of a send that has not sent its value.
/// \throws  channel_closed; std::system_error (no_buffer_space) unless drop_newest has dropped it.
WEFT_EXPORT void channel_not_sent(const channel_core&, channel_op result);
WEFT_EXPORT [[noreturn]] void used_after_move() noexcept;

/// A handle on a core. Empty after it was moved from.
class channel_ref {
public:
    channel_ref() noexcept = default;
    explicit channel_ref(channel_core* counted) noexcept : core_(counted) {}
    channel_ref(const channel_ref& other) noexcept : core_(other.core_) {
        if (core_) add_handle(*core_);
    }
    channel_ref(channel_ref&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    channel_ref& operator=(channel_ref other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~channel_ref() {
        if (core_) drop_handle(*core_);
    }

    explicit operator bool() const noexcept { return core_ != nullptr; }
    channel_core& core() const noexcept {
        if (!core_) used_after_move();
        return *core_;
    }

    friend bool operator==(const channel_ref&, const channel_ref&) noexcept = default;

private:
    channel_core* core_ = nullptr;
};

}  // namespace detail
}  // namespace weft

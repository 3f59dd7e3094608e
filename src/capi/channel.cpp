// channel.cpp - channels in C: elements of a size that is known at run time, copied as bytes.
#include <weft/channel_op.hpp>
#include <weft/detail/channel_core.hpp>

#include <cstddef>
#include <cstring>
#include <memory>

#include "capi/handles.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

using detail::element_operations;

constexpr std::size_t most_element_bytes = std::size_t{64} * 1024;

/// The largest alignment that a C type of this size can have, up to a cache line: its alignment
/// divides its size.
constexpr std::size_t alignment_of(std::size_t bytes) noexcept {
    const std::size_t lowest_bit = bytes & (~bytes + 1);
    return std::min<std::size_t>(lowest_bit, 64);
}

/// The operations of one channel, and what to do with elements that are left.
struct raw_operations : element_operations {
    raw_operations(std::size_t size, void (*drop_element)(void*, void*), void* its_user) noexcept
        : element_operations{.bytes = size,
                             .alignment = alignment_of(size),
                             .trivial = size <= detail::typed_element<char>::trivial_bytes,
                             .move = copy,
                             .deliver = copy,
                             .destroy = nothing,
                             .drop = drop_element ? drop_left : nullptr,
                             .end = end_all},
          drop_of_user(drop_element),
          user(its_user) {}

    static void copy(void* to, void* from, const element_operations& o) { std::memcpy(to, from, o.bytes); }
    static void nothing(void*) noexcept {}
    static void drop_left(void* element, const element_operations& o) noexcept {
        const auto& mine = static_cast<const raw_operations&>(o);
        mine.drop_of_user(mine.user, element);
    }
    static void end_all(const element_operations& o) noexcept { delete static_cast<const raw_operations*>(&o); }

    void (*const drop_of_user)(void* user, void* element);
    void* const user;
};

weft_status status_of_op(channel_op result) noexcept {
    switch (result) {
        case channel_op::done: return WEFT_OK;
        case channel_op::closed: return WEFT_CLOSED;
        case channel_op::timeout: return WEFT_TIMEDOUT;
        default: return WEFT_BUSY;
    }
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_channel_create(size_t element_bytes, size_t capacity, void (*drop)(void* user, void* element), void* user,
                                weft_channel** out) {
    if (!out) return refuse("weft_channel_create", "out is null");
    if (element_bytes == 0 || element_bytes > most_element_bytes)
        return refuse("weft_channel_create", "element_bytes is not in 1 to 65536");
    return guarded([&]() -> weft_status {
        auto operations = std::make_unique<raw_operations>(element_bytes, drop, user);
        *out = handle_of(weft::detail::make_channel(*operations, capacity));
        static_cast<void>(operations.release());  // until end_all()
        return WEFT_OK;
    });
}

weft_channel* weft_channel_retain(weft_channel* ch) {
    if (ch) weft::detail::add_handle(core_of(ch));
    return ch;
}

void weft_channel_release(weft_channel* ch) {
    if (ch) weft::detail::drop_handle(core_of(ch));
}

weft_status weft_send(weft_channel* ch, const void* element, int64_t timeout_ns) {
    if (!ch) return refuse("weft_send", "the channel is null");
    if (!element) return refuse("weft_send", "the element is null");
    return guarded([&]() -> weft_status {
        void* const from = const_cast<void*>(element);
        return status_of_op(timeout_ns <= 0 ? weft::detail::channel_try_send(core_of(ch), from)
                                            : weft::detail::channel_send(core_of(ch), from, deadline_of(timeout_ns)));
    });
}

weft_status weft_receive(weft_channel* ch, void* element, int64_t timeout_ns) {
    if (!ch) return refuse("weft_receive", "the channel is null");
    if (!element) return refuse("weft_receive", "the element is null");
    return guarded([&]() -> weft_status {
        return status_of_op(timeout_ns <= 0 ? weft::detail::channel_try_receive(core_of(ch), element)
                                            : weft::detail::channel_receive(core_of(ch), element, deadline_of(timeout_ns)));
    });
}

void weft_close(weft_channel* ch) {
    if (ch) weft::detail::channel_close(core_of(ch));
}

bool weft_channel_is_closed(weft_channel* ch) { return ch && weft::detail::channel_is_closed(core_of(ch)); }

size_t weft_channel_size(weft_channel* ch) { return ch ? weft::detail::channel_size(core_of(ch)) : 0; }

size_t weft_channel_capacity(weft_channel* ch) { return ch ? weft::detail::channel_capacity(core_of(ch)) : 0; }

size_t weft_channel_element_bytes(weft_channel* ch) { return ch ? weft::detail::channel_element(core_of(ch)).bytes : 0; }

// frames.cpp - shields, deadlines and pins in C: the frames of weft, placed in structs of the caller.
#include <weft/deadline.hpp>
#include <weft/detail/interrupt.hpp>
#include <weft/detail/pin.hpp>

#include <memory>
#include <new>

#include "capi/placed.hpp"
#include "capi/status.hpp"

using namespace weft::capi;

void weft_shield_enter(weft_shield* frame, int64_t limit_ns) {
    if (frame) new (frame) weft::detail::shield_frame(deadline_of(limit_ns));
}

void weft_shield_leave(weft_shield* frame) {
    if (frame) std::destroy_at(&placed_in<weft::detail::shield_frame>(frame));
}

void weft_deadline_enter(weft_deadline* frame, int64_t timeout_ns) {
    if (frame) new (frame) weft::detail::deadline_frame(deadline_of(timeout_ns));
}

weft_status weft_deadline_leave(weft_deadline* frame, weft_status s) {
    if (!frame) return s;
    auto& placed = placed_in<weft::detail::deadline_frame>(frame);
    const bool is_mine = s == WEFT_CANCELED && weft::detail::has_expired(placed);
    std::destroy_at(&placed);
    return is_mine ? WEFT_TIMEDOUT : s;
}

void weft_pin_enter(weft_pin* frame) {
    if (frame) new (frame) weft::detail::pin;
}

void weft_pin_leave(weft_pin* frame) {
    if (frame) std::destroy_at(&placed_in<weft::detail::pin>(frame));
}

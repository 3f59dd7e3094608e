// frame.hpp - the registers of a suspended aarch64 stack, as a struct.
#pragma once

#include <cstddef>

#include "arch/aarch64/layout.h"
#include "arch/context.hpp"

namespace weft::detail {

struct saved_frame {
    void* x29;
    void* x30;
    void* x19;
    void* x20;
    void* x21;
    void* x22;
    void* x23;
    void* x24;
    void* x25;
    void* x26;
    void* x27;
    void* x28;
    double d8;
    double d9;
    double d10;
    double d11;
    double d12;
    double d13;
    double d14;
    double d15;
};

static_assert(offsetof(saved_frame, x29) == WEFT_FRAME_X29);
static_assert(offsetof(saved_frame, x30) == WEFT_FRAME_X30);
static_assert(offsetof(saved_frame, x19) == WEFT_FRAME_X19);
static_assert(offsetof(saved_frame, x20) == WEFT_FRAME_X20);
static_assert(offsetof(saved_frame, x21) == WEFT_FRAME_X21);
static_assert(offsetof(saved_frame, x22) == WEFT_FRAME_X22);
static_assert(offsetof(saved_frame, x23) == WEFT_FRAME_X23);
static_assert(offsetof(saved_frame, x24) == WEFT_FRAME_X24);
static_assert(offsetof(saved_frame, x25) == WEFT_FRAME_X25);
static_assert(offsetof(saved_frame, x26) == WEFT_FRAME_X26);
static_assert(offsetof(saved_frame, x27) == WEFT_FRAME_X27);
static_assert(offsetof(saved_frame, x28) == WEFT_FRAME_X28);
static_assert(offsetof(saved_frame, d8) == WEFT_FRAME_D8);
static_assert(offsetof(saved_frame, d9) == WEFT_FRAME_D9);
static_assert(offsetof(saved_frame, d10) == WEFT_FRAME_D10);
static_assert(offsetof(saved_frame, d11) == WEFT_FRAME_D11);
static_assert(offsetof(saved_frame, d12) == WEFT_FRAME_D12);
static_assert(offsetof(saved_frame, d13) == WEFT_FRAME_D13);
static_assert(offsetof(saved_frame, d14) == WEFT_FRAME_D14);
static_assert(offsetof(saved_frame, d15) == WEFT_FRAME_D15);
static_assert(sizeof(saved_frame) == WEFT_FRAME_BYTES);

/// Makes `weft_context_base` call function(argument, word passed by the switch, extra).
inline void set_first_call(saved_frame& frame, void* function, void* argument, void* extra) noexcept {
    frame.x19 = function;
    frame.x20 = argument;
    frame.x21 = extra;
    frame.x29 = nullptr;  // CONTEXT-4, for code that walks frame pointers
    frame.x30 = reinterpret_cast<void*>(&weft_context_base);
}

}  // namespace weft::detail

// frame.hpp - the registers of a suspended x86-64 stack, as a struct.
#pragma once

#include <cstddef>

#include "arch/context.hpp"
#include "arch/x86_64/layout.h"

namespace weft::detail {

struct saved_frame {
    void* r15;
    void* r14;
    void* r13;
    void* r12;
    void* rbx;
    void* rbp;
    void* return_address;
};

static_assert(offsetof(saved_frame, r15) == WEFT_FRAME_R15);
static_assert(offsetof(saved_frame, r14) == WEFT_FRAME_R14);
static_assert(offsetof(saved_frame, r13) == WEFT_FRAME_R13);
static_assert(offsetof(saved_frame, r12) == WEFT_FRAME_R12);
static_assert(offsetof(saved_frame, rbx) == WEFT_FRAME_RBX);
static_assert(offsetof(saved_frame, rbp) == WEFT_FRAME_RBP);
static_assert(offsetof(saved_frame, return_address) == WEFT_FRAME_RETURN);
static_assert(sizeof(saved_frame) == WEFT_FRAME_BYTES);

/// Makes `weft_context_base` call function(argument, word passed by the switch, extra).
inline void set_first_call(saved_frame& frame, void* function, void* argument, void* extra) noexcept {
    frame.r12 = function;
    frame.r13 = argument;
    frame.r14 = extra;
    frame.rbp = nullptr;  // CONTEXT-4, for code that walks frame pointers
    frame.return_address = reinterpret_cast<void*>(&weft_context_base);
}

}  // namespace weft::detail

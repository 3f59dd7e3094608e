#include "arch/left_stack.hpp"

#include <unwind.h>

namespace weft::detail {

extern "C" [[gnu::visibility("hidden")]] void weft_call_from_context(void* sp, void (*function)(void*), void* argument) noexcept;

namespace {

struct reading {
    std::span<void*> into;
    std::size_t count = 0;
    std::size_t to_skip = 2;  // collect() and weft_call_from_context itself
};

_Unwind_Reason_Code note(_Unwind_Context* frame, void* argument) noexcept {
    auto& r = *static_cast<reading*>(argument);
    if (r.to_skip != 0) {
        --r.to_skip;
        return _URC_NO_REASON;
    }
    void* const code = reinterpret_cast<void*>(_Unwind_GetIP(frame));
    if (!code || r.count == r.into.size()) return _URC_END_OF_STACK;
    r.into[r.count++] = code;
    return _URC_NO_REASON;
}

void collect(void* argument) noexcept {
    _Unwind_Backtrace(note, argument);
    // so that the call above is not a tail call, and this function has a frame
    asm volatile("" ::: "memory");
}

}  // namespace

std::size_t read_left_stack(const context& c, std::span<void*> into) noexcept {
    reading r{.into = into};
    weft_call_from_context(c.sp, &collect, &r);
    return r.count;
}

}  // namespace weft::detail

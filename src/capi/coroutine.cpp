// coroutine.cpp - coroutines in C. A body that is to end is told so by the status of its yield.
#include <weft/detail/coroutine_core.hpp>
#include <weft/stop.hpp>

#include <exception>

#include "capi/handles.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

struct coroutine_body {
    weft_coroutine_body f;
    void* arg;
    void* run(detail::coroutine_core& core, void* first) { return f(handle_of(&core), first, arg); }
};

bool is_done(const weft_coroutine* c) noexcept {
    return detail::state_of(core_of(const_cast<weft_coroutine*>(c))) == coroutine_state::done;
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_coroutine_create(weft_coroutine_body f, void* arg, size_t stack_bytes, weft_coroutine** out) {
    if (!f) return refuse("weft_coroutine_create", "the body is null");
    if (!out) return refuse("weft_coroutine_create", "out is null");
    return guarded([&]() -> weft_status {
        *out = handle_of(weft::detail::make_coroutine<coroutine_body>({.stack_bytes = stack_bytes}, f, arg).release());
        return WEFT_OK;
    });
}

weft_status weft_coroutine_call(weft_coroutine* c, void* in, void** out) {
    if (!c) return refuse("weft_coroutine_call", "the coroutine is null");
    return guarded([&]() -> weft_status {
        if (is_done(c)) {
            if (out) *out = nullptr;
            return WEFT_DONE;
        }
        void* passed = nullptr;
        try {
            passed = weft::detail::call_coroutine(core_of(c), in);
        } catch (const weft::cancelled&) {
            throw;
        } catch (...) {
            if (is_done(c)) return failure_of_body(std::current_exception());
            throw;
        }
        if (out) *out = passed;
        return is_done(c) ? WEFT_DONE : WEFT_OK;
    });
}

weft_status weft_coroutine_yield(weft_coroutine* self, void* out, void** in) {
    if (!self) return refuse("weft_coroutine_yield", "the coroutine is null");
    auto& core = core_of(self);
    if (weft::detail::is_unwinding(core)) return WEFT_CANCELED;  // again
    return guarded([&]() -> weft_status {
        weft::detail::leave_coroutine(core, out);
        if (weft::detail::is_unwinding(core)) return WEFT_CANCELED;
        void* const passed = weft::detail::take_input(core);
        if (in) *in = passed;
        return WEFT_OK;
    });
}

bool weft_coroutine_is_done(const weft_coroutine* c) { return !c || is_done(c); }

void weft_coroutine_destroy(weft_coroutine* c) {
    if (c) weft::detail::coroutine_ptr(&core_of(c)).reset();
}

// fiber.cpp - fibers in C: spawn, join, stop; and what a fiber asks of itself.
#include <weft/fiber.hpp>

#include <exception>

#include "capi/handles.hpp"
#include "capi/status.hpp"
#include "fiber/interrupts.hpp"
#include "sched/own_stack.hpp"

namespace weft::capi {
namespace {

template <detail::start_as kind>
detail::fiber_ref start(runtime& where, const attributes* how, const body_call& body) {
    auto& scheduler = detail::scheduler_of(where);
    if (how) return detail::start_fiber<kind>(scheduler, *how, body);
    return detail::made_fiber<kind, body_call>(&scheduler, std::source_location{}, body).start();
}

/// Waits for the end of the body and takes its result. The handle is empty afterwards, unless the
/// caller was interrupted.
weft_status join(detail::fiber_ref& f, int* result) {
    const detail::joined_fiber ended(f);
    if (ended.body().failure()) [[unlikely]]
        return failure_of_body(ended.body().failure());
    const int value = static_cast<detail::result_task<int>&>(ended.body()).take();
    if (result) *result = value;
    return WEFT_OK;
}

}  // namespace

weft_status read_attributes(const char* function, const weft_attributes* given, attributes& into) noexcept {
    weft_attributes a;
    if (const auto s = read_options(function, given, a); s != WEFT_OK) return s;
    if (a.name) into.name = a.name;
    into.stack_bytes = a.stack_bytes;
    into.preempt = !a.no_preempt;
    into.run_now = a.run_now;
    into.as_thread = a.as_thread;
    switch (a.migrate) {
        case WEFT_MIGRATE_ALWAYS: into.move = migrate::always; break;
        case WEFT_MIGRATE_BEFORE_START: into.move = migrate::before_start; break;
        case WEFT_MIGRATE_NEVER: into.move = migrate::never; break;
        case WEFT_MIGRATE_OWN_CARRIER: into.move = migrate::own_carrier; break;
        default: return refuse(function, "attributes: migrate is not one of WEFT_MIGRATE_...");
    }
    switch (a.priority) {
        case WEFT_PRIORITY_INHERIT: break;
        case WEFT_PRIORITY_HIGH: into.priority = priority::high; break;
        case WEFT_PRIORITY_NORMAL: into.priority = priority::normal; break;
        case WEFT_PRIORITY_LOW: into.priority = priority::low; break;
        default: return refuse(function, "attributes: priority is not one of WEFT_PRIORITY_...");
    }
    return WEFT_OK;
}

}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_spawn(weft_runtime* rt, weft_body f, void* arg, const weft_attributes* a, weft_fiber** out) {
    if (!f) return refuse("weft_spawn", "the body is null");
    auto* const where = runtime_for(rt);
    if (!where) return no_runtime("weft_spawn");
    if (rt && where->inherited()) return not_here("weft_spawn");
    return guarded([&]() -> weft_status {
        weft::attributes how{.site = {}};
        if (a)
            if (const auto s = read_attributes("weft_spawn", a, how); s != WEFT_OK) return s;
        const auto* const given = a ? &how : nullptr;
        const body_call body{f, arg};
        if (out)
            *out = handle_of(start<weft::detail::start_as::joinable>(*where, given, body));
        else
            start<weft::detail::start_as::detached>(*where, given, body);
        return WEFT_OK;
    });
}

weft_status weft_run(weft_runtime* rt, weft_body main, void* arg, int* result) {
    if (!rt) return refuse("weft_run", "the runtime is null");
    if (!main) return refuse("weft_run", "the body is null");
    if (runtime_of(rt)->inherited()) return not_here("weft_run");
    return guarded([&]() -> weft_status {
        const weft::attributes how{.name = "main", .site = {}};
        // The destructor stops the fiber and waits for it if the caller was interrupted.
        weft::fiber<int> f(start<weft::detail::start_as::joinable>(*runtime_of(rt), &how, {main, arg}));
        return join(const_cast<weft::detail::fiber_ref&>(f.ref()), result);
    });
}

weft_status weft_join(weft_fiber* f, int64_t timeout_ns, int* result) {
    if (!f) return refuse("weft_join", "the handle is null");
    borrowed ref(f);
    return guarded([&]() -> weft_status {
        if (timeout_ns <= 0) {
            if (!ref->done()) return WEFT_BUSY;
            const weft::shield is_no_wait;
            return join(*ref, result);
        }
        if (timeout_ns != WEFT_FOREVER && !ref->wait_until(deadline_of(timeout_ns))) return WEFT_TIMEDOUT;
        return join(*ref, result);
    });
}

void weft_detach(weft_fiber* f) {
    if (f) taken(f).detach();
}

bool weft_request_stop(weft_fiber* f) { return f && borrowed(f)->request_stop(); }

bool weft_is_done(const weft_fiber* f) { return f && borrowed(f)->done(); }

uint64_t weft_fiber_id(const weft_fiber* f) { return f ? borrowed(f)->id() : 0; }

weft_status weft_yield(void) {
    return guarded([]() -> weft_status {
        weft::this_fiber::yield();
        return WEFT_OK;
    });
}

weft_status weft_sleep(int64_t ns) {
    return guarded([&]() -> weft_status {
        weft::this_fiber::sleep_until(deadline_of(ns));
        return WEFT_OK;
    });
}

uint64_t weft_self_id(void) { return weft::this_fiber::id().value; }

bool weft_stop_requested(void) { return weft::detail::stop_is_pending(); }

weft_status weft_check_canceled(void) { return weft::detail::pending_interrupt() ? WEFT_CANCELED : WEFT_OK; }

void weft_set_name(const char* name) { weft::this_fiber::set_name(name ? name : ""); }

size_t weft_stack_remaining(void) { return weft::this_fiber::stack_remaining(); }

void weft_stack_bounds(void** low, void** high) {
    const auto span = weft::detail::own_stack();
    if (low) *low = span.low;
    if (high) *high = span.high;
}

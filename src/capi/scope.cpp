// scope.cpp - scopes in C: children that end before the scope is closed.
#include <weft/scope.hpp>

#include <memory>

#include "capi/handles.hpp"
#include "capi/status.hpp"

using namespace weft::capi;

weft_status weft_scope_open(weft_runtime* rt, const weft_scope_options* o, weft_scope** out) {
    if (!out) return refuse("weft_scope_open", "out is null");
    auto* const where = runtime_for(rt);
    if (!where) return no_runtime("weft_scope_open");
    if (where->inherited()) return not_here("weft_scope_open");
    return guarded([&]() -> weft_status {
        weft_scope_options given;
        if (const auto s = read_options("weft_scope_open", o, given); s != WEFT_OK) return s;
        const weft::scope_options options{.on_failure = given.keep_going ? weft::on_failure::report : weft::on_failure::stop_all,
                                          .limit = given.limit};
        auto made = std::make_unique<weft_scope>(*where, options);
        count_open_scope(1);
        *out = made.release();
        return WEFT_OK;
    });
}

weft_status weft_scope_spawn(weft_scope* s, weft_body f, void* arg, const weft_attributes* a) {
    if (!s) return refuse("weft_scope_spawn", "the scope is null");
    if (!f) return refuse("weft_scope_spawn", "the body is null");
    if (s->where.inherited()) return not_here("weft_scope_spawn");
    return guarded([&]() -> weft_status {
        weft::attributes how{.site = {}};
        if (const auto r = read_attributes("weft_scope_spawn", a, how); r != WEFT_OK) return r;
        weft::scope(s->core).spawn(how, body_call{f, arg});
        return WEFT_OK;
    });
}

void weft_scope_request_stop(weft_scope* s) {
    if (s) s->core.request_stop();
}

weft_status weft_scope_close(weft_scope* s) {
    if (!s) return refuse("weft_scope_close", "the scope is null");
    if (s->where.inherited()) return not_here("weft_scope_close");  // its children run in the parent
    count_open_scope(-1);
    const std::unique_ptr<weft_scope> ends(s);
    try {
        s->core.close(true);
        return WEFT_OK;
    } catch (const weft::cancelled&) {
        return WEFT_CANCELED;
    } catch (...) {
        return failure_of_body(std::current_exception());
    }
}

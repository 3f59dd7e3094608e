// prefork.cpp - processes that share a port, in C.
#include <weft/c_prefork.h>

#include <weft/prefork.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "capi/handles.hpp"
#include "capi/hog.hpp"
#include "capi/status.hpp"
#include "prefork/role.hpp"

struct weft_prefork_worker {
    weft::prefork::worker& worker;
};

namespace weft::capi {
namespace {

void tell_of_ready(const weft_prefork_options& o, std::span<const net::endpoint> opened) {
    const auto at = to_string(opened.front());
    o.on_ready(at.c_str(), o.user);
}

weft_status read_prefork_options(const weft_prefork_options& given, prefork::options& o) {
    if (!given.at) return refuse("weft_prefork_run", "the options: at is null");
    if (given.grace_ns < 0) return refuse("weft_prefork_run", "the options: grace_ns is negative");
    if (given.ready_within_ns < 0) return refuse("weft_prefork_run", "the options: ready_within_ns is negative");
    o.listen = {net::endpoint::parse(given.at)};
    o.processes = given.processes;
    o.runtime.workers = given.workers;
    if (given.stack_bytes != 0) o.runtime.stack_bytes = given.stack_bytes;
    if (given.grace_ns != 0) o.grace = std::chrono::nanoseconds(given.grace_ns);
    if (given.ready_within_ns != 0) o.ready_within = std::chrono::nanoseconds(given.ready_within_ns);
    if (given.on_ready) o.on_ready = [given](auto opened) { tell_of_ready(given, opened); };
    if (given.on_hog) o.runtime.on_hog = [given](const hog_report& h) { tell_of_hog(given.on_hog, given.user, h); };
    return WEFT_OK;
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_prefork_run(int argc, char** argv, const weft_prefork_options* o, int (*work)(weft_prefork_worker*, void*),
                             void* arg, int* code) {
    if (!o) return refuse("weft_prefork_run", "the options are null");
    if (!work) return refuse("weft_prefork_run", "work is null");
    if (!code) return refuse("weft_prefork_run", "code is null");
    if (argc > 0 && !argv) return refuse("weft_prefork_run", "argv is null");
    if (weft_self_id() != 0) return fail(WEFT_ESTATE, "weft_prefork_run: the caller is a fiber");
    return guarded([&]() -> weft_status {
        weft_prefork_options given;
        if (const auto s = read_options("weft_prefork_run", o, given); s != WEFT_OK) return s;
        weft::prefork::options options;
        if (const auto s = read_prefork_options(given, options); s != WEFT_OK) return s;
        int result = 0;
        const int exit_code = weft::prefork::run(argc, argv, options, [&](weft::prefork::worker& w) {
            weft_prefork_worker worker{w};
            result = body_call::run([&] { return work(&worker, arg); });
        });
        *code = exit_code != 0 ? exit_code : result;
        return WEFT_OK;
    });
}

bool weft_prefork_is_worker(void) { return std::getenv(weft::prefork::role_variable) != nullptr; }

weft_status weft_prefork_listener(weft_prefork_worker* w, weft_listener** out) {
    if (!w) return refuse("weft_prefork_listener", "the worker is null");
    if (!out) return refuse("weft_prefork_listener", "out is null");
    return guarded([&]() -> weft_status {
        *out = new weft_listener{w->worker.listener(0)};
        return WEFT_OK;
    });
}

weft_status weft_prefork_descriptor(weft_prefork_worker* w, int* out) {
    if (!w) return refuse("weft_prefork_descriptor", "the worker is null");
    if (!out) return refuse("weft_prefork_descriptor", "out is null");
    return guarded([&]() -> weft_status {
        *out = w->worker.descriptor(0);
        return WEFT_OK;
    });
}

int64_t weft_prefork_grace(const weft_prefork_worker* w) { return w ? w->worker.grace().count() : 0; }

weft_status weft_prefork_serve(weft_prefork_worker* w, int (*serve)(void*), void (*stop)(bool, void*), void* arg, int* result) {
    if (!w) return refuse("weft_prefork_serve", "the worker is null");
    if (!serve || !stop) return refuse("weft_prefork_serve", "serve or stop is null");
    return guarded([&]() -> weft_status {
        int value = 0;
        w->worker.serve([&] { value = body_call::run([&] { return serve(arg); }); },
                        [&](weft::prefork::ending what) { stop(what == weft::prefork::ending::program, arg); });
        if (result) *result = value;
        return WEFT_OK;
    });
}

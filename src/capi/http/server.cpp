// server.cpp - the HTTP server in C: options, routes, and its life.
#include <weft/http/server.hpp>

#include <weft/http/log.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/owned_descriptor.hpp"
#include "capi/handles.hpp"
#include "capi/http/exchange.hpp"
#include "capi/status.hpp"
#include "net/accepting.hpp"

struct weft_http_server {
    weft::http::server server;
    weft::http::server_options options;
    std::size_t max_body_bytes = 0;
};

namespace weft::capi {
namespace {

/// Zero leaves the default.
void set_limit(std::size_t& option, std::size_t given) noexcept {
    if (given != 0) option = given;
}
weft_status set_time(std::chrono::nanoseconds& option, std::int64_t given, const char* what) noexcept {
    if (given < 0) return fail(WEFT_EINVAL, std::string("weft_http_create: the options: ") + what + " is negative");
    if (given != 0) option = given == WEFT_FOREVER ? no_limit : std::chrono::nanoseconds(given);
    return WEFT_OK;
}

weft_status read_options(const weft_http_options& given, http::server_options& o) noexcept {
    set_limit(o.max_header_bytes, given.max_header_bytes);
    set_limit(o.max_body_bytes, given.max_body_bytes);
    set_limit(o.max_header_fields, given.max_header_fields);
    set_limit(o.max_query_parameters, given.max_query_parameters);
    set_limit(o.max_connections, given.max_connections);
    set_limit(o.min_rate, given.min_rate);
    const std::tuple<std::chrono::nanoseconds*, std::int64_t, const char*> times[] = {
        {&o.header_timeout, given.header_timeout_ns, "header_timeout_ns"},
        {&o.idle_timeout, given.idle_timeout_ns, "idle_timeout_ns"},
        {&o.body_timeout, given.body_timeout_ns, "body_timeout_ns"},
        {&o.write_timeout, given.write_timeout_ns, "write_timeout_ns"},
        {&o.request_timeout, given.request_timeout_ns, "request_timeout_ns"},
        {&o.cold_after, given.cold_after_ns, "cold_after_ns"}};
    for (const auto& [option, ns, name] : times)
        if (const auto s = set_time(*option, ns, name); s != WEFT_OK) return s;
    return WEFT_OK;
}

/// Owns the descriptor once there is a listener.
template <class Listener>
io::byte_listener listener_on(weft::detail::owned_descriptor& socket) {
    auto l = Listener::from_descriptor(socket.get());
    socket.release();
    return l;
}

void tell_of_failure(const weft_http_options& o, const http::request& q, const std::exception_ptr& failure) {
    const auto words = words_of_failure(failure);
    const weft_http_failure f{q.method().c_str(), q.target().c_str(), words.c_str()};
    o.on_error(&f, o.user);
}

/// One call on a server.
template <class S, class F>
weft_status on(const char* function, S* s, F&& work) noexcept {
    if (!s) return refuse(function, "the server is null");
    return guarded([&]() -> weft_status {
        try {
            return work(*s);
        } catch (const std::invalid_argument&) {
            throw;
        } catch (const std::logic_error& e) {  // it listens already, it does not listen, it serves already
            return fail(WEFT_ESTATE, e.what());
        }
    });
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_http_create(const weft_http_options* o, weft_http_server** out) {
    if (!out) return refuse("weft_http_create", "out is null");
    return guarded([&]() -> weft_status {
        weft_http_options given;
        if (const auto s = read_options("weft_http_create", o, given); s != WEFT_OK) return s;
        auto made = std::make_unique<weft_http_server>();
        if (const auto s = read_options(given, made->options); s != WEFT_OK) return s;
        made->max_body_bytes = made->options.max_body_bytes;
        if (given.on_error)
            made->options.on_error = [given](const auto& q, const std::exception_ptr& e) { tell_of_failure(given, q, e); };
        *out = made.release();
        return WEFT_OK;
    });
}

void weft_http_destroy(weft_http_server* s) { delete s; }

weft_status weft_http_route(weft_http_server* s, const char* method, const char* pattern, weft_http_handler f, void* user) {
    if (!pattern) return refuse("weft_http_route", "the pattern is null");
    if (!f) return refuse("weft_http_route", "the handler is null");
    return on("weft_http_route", s, [&](auto& of) {
        of.server.route(method ? method : "", pattern, weft::http::body_handler(c_handler{f, user, of.max_body_bytes}));
        return WEFT_OK;
    });
}

weft_status weft_http_constant(weft_http_server* s, const char* pattern, const char* content_type, const void* body, size_t n) {
    if (!pattern) return refuse("weft_http_constant", "the pattern is null");
    if (!content_type) return refuse("weft_http_constant", "the content type is null");
    if (!body && n != 0) return refuse("weft_http_constant", "the body is null");
    return on("weft_http_constant", s, [&](auto& of) {
        weft::http::response answer;
        answer.headers.add("Content-Type", content_type);
        answer.body.assign(static_cast<const char*>(body), n);
        of.server.get(pattern, [answer = std::move(answer)](const auto&) { return answer; });
        return WEFT_OK;
    });
}

weft_status weft_http_files(weft_http_server* s, const char* prefix, const char* directory, const weft_http_files_options* o) {
    if (!prefix) return refuse("weft_http_files", "the prefix is null");
    if (!directory) return refuse("weft_http_files", "the directory is null");
    return on("weft_http_files", s, [&](auto& of) -> weft_status {
        weft_http_files_options given;
        if (const auto status = read_options("weft_http_files", o, given); status != WEFT_OK) return status;
        if (given.cache_ns < 0) return refuse("weft_http_files", "the options: cache_ns is negative");
        weft::http::files_options files{
            .cache = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::nanoseconds(given.cache_ns)),
            .ranges = !given.no_ranges,
            .precompressed = !given.no_precompressed,
            .hidden = given.hidden};
        if (given.index) files.index = given.index;
        of.server.files(prefix, directory, std::move(files));
        return WEFT_OK;
    });
}

weft_status weft_http_log_access(weft_http_server* s, int fd, int format) {
    std::string (*line)(const weft::http::access&) = nullptr;
    switch (format) {
        case WEFT_HTTP_LOG_COMMON: line = weft::http::common_log_line; break;
        case WEFT_HTTP_LOG_COMBINED: line = weft::http::combined_log_line; break;
        case WEFT_HTTP_LOG_JSON: line = weft::http::json_log_line; break;
        default: return refuse("weft_http_log_access", "the format is not one of WEFT_HTTP_LOG_...");
    }
    return on("weft_http_log_access", s, [&](auto& of) {
        of.options.on_access = weft::http::access_log(fd, line);
        return WEFT_OK;
    });
}

weft_status weft_http_listen(weft_http_server* s, const char* at) {
    if (!at) return refuse("weft_http_listen", "the address is null");
    return on("weft_http_listen", s, [&](auto& of) {
        of.server.listen(weft::net::endpoint::parse(at), of.options);
        return WEFT_OK;
    });
}

weft_status weft_http_listen_on(weft_http_server* s, weft_listener* l) {
    if (!l) return refuse("weft_http_listen_on", "the listener is null");
    return on("weft_http_listen_on", s, [&](auto& of) {
        const std::unique_ptr<weft_listener> taken(l);
        of.server.listen(weft::io::byte_listener(std::move(taken->listener)), of.options);
        return WEFT_OK;
    });
}

weft_status weft_http_listen_descriptor(weft_http_server* s, int fd) {
    weft::detail::owned_descriptor socket(fd);
    return on("weft_http_listen_descriptor", s, [&](auto& of) {
        of.server.listen(weft::detail::is_unix_socket(socket.get()) ? listener_on<weft::unix_socket::listener>(socket)
                                                                    : listener_on<weft::tcp::listener>(socket),
                         of.options);
        return WEFT_OK;
    });
}

weft_status weft_http_local(const weft_http_server* s, char* text, size_t n) {
    return on("weft_http_local", s,
              [&](const auto& of) { return copy_text("weft_http_local", to_string(of.server.local()), text, n); });
}

weft_status weft_http_serve(weft_http_server* s) {
    if (weft_self_id() == 0) return fail(WEFT_ENOFIBER, "weft_http_serve: the caller is a plain thread");
    return on("weft_http_serve", s, [](auto& of) {
        of.server.serve();
        return WEFT_OK;
    });
}

void weft_http_stop(weft_http_server* s, int64_t grace_ns) {
    if (s) s->server.stop(std::chrono::nanoseconds(std::max<int64_t>(grace_ns, 0)));
}

void weft_http_drain(weft_http_server* s, int64_t grace_ns) {
    if (s) s->server.drain(std::chrono::nanoseconds(std::max<int64_t>(grace_ns, 0)));
}

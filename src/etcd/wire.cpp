#include "etcd/wire.hpp"

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/no_limit.hpp>

namespace weft::detail {

using etcd::failed;
using etcd::failure;
using etcd::json;
using weft::etcd::etcd_errc;

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("weft: etcd::client: " + what); }

weft::etcd::client_options checked(weft::etcd::client_options o) {
    if (o.endpoints.empty()) refuse("endpoints is empty");
    for (auto& url : o.endpoints) {
        if (!url.starts_with("http://") && !url.starts_with("https://"))
            refuse("an endpoint must begin with http:// or https://");
        if (url.starts_with("https://") && !o.tls) refuse("an endpoint with https:// needs client_options::tls");
        while (url.ends_with('/')) url.pop_back();
    }
    if (o.user.empty() && !o.password.empty()) refuse("password is given without user");
    if (o.max_answer_bytes == 0) refuse("max_answer_bytes is zero");
    return o;
}

http::client_options below(const weft::etcd::client_options& o, std::chrono::nanoseconds silence,
                           std::chrono::nanoseconds timeout) {
    return {.connect_timeout = o.connect_timeout,
            .silence_timeout = silence,
            .timeout = timeout,
            .redirects = 0,
            .decompress = false,
            .retry = http::retry::never,
            .max_body_bytes = o.max_answer_bytes,
            .tls = o.tls,
            .connect = o.connect};
}

std::string text_of(const json& request) {
    return request.dump(-1, ' ', false, json::error_handler_t::replace);  // a user's name may be no UTF-8
}

http::headers with(const std::string& token) {
    http::headers h;
    if (!token.empty()) h.set("Authorization", token);
    return h;
}

[[noreturn]] void raise(const char* path, const failure& why, twice kind) {
    throw weft::etcd::error(why.reason, "weft: etcd " + std::string(path) + ": " + why.words,
                            why.maybe_done && kind != twice::nothing_done);
}

bool is_away(const failure& f) noexcept { return f.reason == etcd_errc::unavailable || f.reason == etcd_errc::no_leader; }

}  // namespace

etcd_wire::etcd_wire(weft::etcd::client_options o)
    : options_(checked(std::move(o))),
      codec_(options_.prefix),
      client_(below(options_, options_.request_limit, options_.request_limit)),
      streams_(below(options_, options_.watch_silence, no_limit)) {}

template <class F>
auto etcd_wire::somewhere(const char* path, twice kind, F&& once) -> decltype(once(std::size_t{}, std::string())) {
    const auto servers = options_.endpoints.size();
    for (std::size_t tries = 1;; ++tries) {
        const auto which = current_.load(relaxed) % servers;
        std::optional<failure> why;
        try {
            return with_token(which, once);
        } catch (const cancelled&) {  // by a deadline of the caller, perhaps: this server may be the one that hangs
            current_.store((which + 1) % servers, relaxed);
            throw;
        } catch (const failed& f) {
            why = f.why;
        } catch (const etcd::bad_answer& e) {
            why = {.reason = etcd_errc::protocol, .words = e.what(), .maybe_done = true};
        }
        if (is_away(*why)) current_.store((which + 1) % servers, relaxed);
        // An only server is asked again if the connection was lost, which may have been an old one.
        const bool somebody_is_left = servers > 1 ? tries < servers : tries == 1 && why->maybe_done;
        if (!somebody_is_left || !is_away(*why) || (why->maybe_done && kind == twice::differs))
            raise(path, *why, kind);  // WIRE-1
    }
}

template <class F>
auto etcd_wire::with_token(std::size_t which, F&& once) -> decltype(once(which, std::string())) {
    const auto mine = token(which);
    std::optional<failure> why;
    try {
        return once(which, mine);
    } catch (const failed& f) {
        if (mine.empty() || !f.why.old_token) throw;
    }
    forget(mine);
    return once(which, token(which));  // WIRE-1: the first one was refused
}

json etcd_wire::call(const char* path, const json& request, twice kind, std::optional<std::chrono::nanoseconds> limit) {
    return somewhere(path, kind, [&](std::size_t which, const std::string& t) { return ask(which, path, request, t, limit); });
}

json etcd_wire::ask(std::size_t which, const char* path, const json& request, const std::string& token,
                    std::optional<std::chrono::nanoseconds> limit) {
    try {
        const auto answer =
            client_.post(options_.endpoints[which] + path, text_of(request), {.headers = with(token), .timeout = limit});
        if (answer.status != 200) throw failed{etcd::failure_in(answer.status, answer.body)};
        auto object =
            etcd::parse_object(std::string_view(answer.body).substr(0, answer.body.find('\n')));  // of a stream the first one
        if (!etcd::at(object, "error").is_null()) throw failed{etcd::failure_of(object)};
        return object;
    } catch (const http::client_error& e) {
        throw failed{etcd::failure_of(e)};
    }
}

etcd_wire::opened etcd_wire::watch(const json& request) {
    const auto body = text_of(request);
    return somewhere("/v3/watch", twice::nothing_done, [&](std::size_t which, const std::string& t) {
        try {
            return with_timeout(options_.request_limit, [&] { return open(which, body, t); });
        } catch (const timeout_error&) {
            throw failed{{.reason = etcd_errc::unavailable, .words = "the server does not answer", .maybe_done = true}};
        } catch (const http::client_error& e) {
            throw failed{etcd::failure_of(e)};
        }
    });
}

etcd_wire::opened etcd_wire::open(std::size_t which, const std::string& body, const std::string& token) {
    auto t = streams_.open(
        {.method = "POST", .url = options_.endpoints[which] + "/v3/watch", .headers = with(token), .body = body.size()});
    t.write(body);
    t.finish();
    if (const int status = t.head().status; status != 200)
        throw failed{etcd::failure_in(status, t.read_all(options_.max_answer_bytes))};
    etcd::stream objects(std::move(t), options_.max_answer_bytes);
    auto first = objects.next();
    const auto& result = etcd::at(first, "result");
    if (etcd::flag_at(result, "canceled") && etcd::integer_at(result, "compact_revision") == 0) {
        auto why = etcd::judge(9, etcd::text_at(result, "cancel_reason"));
        why.old_token = why.old_token || why.reason == etcd_errc::permission_denied;  // 3.4 says so of an old token, too
        throw failed{std::move(why)};
    }
    if (!etcd::flag_at(result, "created")) throw etcd::bad_answer("a watch does not begin with `created`");
    return {std::move(objects), std::move(first)};
}

std::string etcd_wire::token(std::size_t which) {
    if (options_.user.empty()) return {};
    {
        const lock_guard hold(lock_);
        if (!token_.empty()) return token_;
    }
    auto fresh = etcd::text_at(
        ask(which, "/v3/auth/authenticate", {{"name", options_.user}, {"password", options_.password}}, {}), "token");
    if (fresh.empty()) throw etcd::bad_answer("the server gives no token");
    const lock_guard hold(lock_);
    token_ = fresh;
    return fresh;
}

void etcd_wire::forget(const std::string& token) {
    const lock_guard hold(lock_);
    if (token_ == token) token_.clear();
}

}  // namespace weft::detail

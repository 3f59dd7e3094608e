// client.cpp - the public client: checks what it is given, and follows redirects.
#include <weft/http/client.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"
#include "http/client/core.hpp"
#include "http/client/redirect.hpp"
#include "http/client/transfer.hpp"
#include "sched/current_place.hpp"

namespace weft::http {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("weft: http::client: " + what); }

void check_time(const char* name, std::chrono::nanoseconds limit) {
    if (limit <= std::chrono::nanoseconds::zero())
        refuse(std::string(name) + " is " + std::to_string(limit.count()) +
               " ns; it must be more than zero, and weft::no_limit means none");
}

client_options checked(client_options o) {
    if (o.most_per_host == 0) refuse("most_per_host is zero");
    if (o.max_header_bytes == 0) refuse("max_header_bytes is zero");
    if (o.max_header_fields == 0) refuse("max_header_fields is zero");
    check_time("idle_life", o.idle_life);
    check_time("connect_timeout", o.connect_timeout);
    check_time("silence_timeout", o.silence_timeout);
    check_time("timeout", o.timeout);
    if (detail::proxy_choice(o.proxy).needs_tls() && !o.tls) refuse("a proxy with https:// needs client_options::tls");
    if (detail::find_current_place().workers == 0)
        throw std::logic_error("weft: http::client needs a runtime: create it inside weft::run()");
    return o;
}

[[noreturn]] void raise(std::string_view method, std::string_view url, const detail::client_failure& why, bool was_sent) {
    std::string text = "weft: ";
    text.append(method).append(" ").append(detail::shown_url(url));
    if (!why.words.empty()) text.append(": ").append(why.words);
    throw client_error(why.code, text, was_sent);
}

detail::client_hop first_hop(std::string_view method, std::string_view url, const headers& h, body_size body) {
    if (!detail::is_token(method) || method == "CONNECT") refuse(detail::in_quotes(method) + " is no method of a request");
    detail::client_hop hop{.method = std::string(method), .url = {}, .headers = h, .body = body};
    if (const auto fault = detail::parse_url(url, hop.url)) {
        // Nobody knows where its login ends: a password may have a '/' that was to be encoded.
        const auto shown = url.substr(url.rfind('@') + 1);
        raise(method, shown, {.code = client_errc::bad_url, .words = fault}, false);
    }
    return hop;
}

}  // namespace

struct client::impl {
    explicit impl(client_options o) : core(checked(std::move(o))) {}

    /// Sends the request, and those that it is redirected to. \returns the one that has the answer.
    std::unique_ptr<detail::http_transfer> follow(detail::client_hop hop, std::optional<std::string_view> body,
                                                  std::optional<std::chrono::nanoseconds> timeout, std::optional<unsigned> most) {
        const auto length = timeout.value_or(core.options.timeout);
        check_time("timeout", length);
        const detail::request_limit limit(length);
        for (;;) {
            auto t = std::make_unique<detail::http_transfer>(core, std::move(hop), limit);
            t->perform(t->hop().body.is_none() ? std::string_view{} : body.value_or(std::string_view{}));
            const auto& head = t->head();
            const auto allowed = most.value_or(core.options.redirects);
            if (allowed == 0 || !detail::is_redirect(head)) return t;
            try {
                if (t->hop().redirects >= allowed)
                    detail::fail_request(client_errc::too_many_redirects, "after " + std::to_string(allowed) + " redirects");
                hop = detail::redirected(t->hop(), head);
            } catch (const detail::client_failure& why) {
                raise(t->hop().method, head.url, why, true);
            }
            t->discard_body();
            t->finish_sending();
        }
    }

    detail::client_core core;
};

client::client(client_options options) : impl_(std::make_unique<impl>(std::move(options))) {}
client::~client() = default;

answer client::send(std::string_view method, std::string_view url, std::optional<std::string_view> body,
                    const request_options& o) {
    auto hop = first_hop(method, url, o.headers, body ? body_size(body->size()) : body_size());
    const auto t = impl_->follow(std::move(hop), body, o.timeout, o.redirects);
    auto text = t->read_all(o.max_body_bytes.value_or(impl_->core.options.max_body_bytes));
    t->finish_sending();
    auto a = t->take_answer();
    a.body = std::move(text);
    return a;
}

transfer client::open(const streamed_request& r) {
    auto hop = first_hop(r.method, r.url, r.headers, r.body);
    if (r.body.is_none()) return transfer(impl_->follow(std::move(hop), std::nullopt, r.timeout, r.redirects));
    hop.waits_for_continue = r.wait_for_continue;
    const auto length = r.timeout.value_or(impl_->core.options.timeout);
    check_time("timeout", length);
    auto t = std::make_unique<detail::http_transfer>(impl_->core, std::move(hop), detail::request_limit(length));
    t->begin();
    return transfer(std::move(t));
}

client_connections client::connections() const noexcept { return impl_->core.pool.connections(); }

transfer::transfer() noexcept = default;
transfer::transfer(transfer&&) noexcept = default;
transfer& transfer::operator=(transfer&&) noexcept = default;
transfer::~transfer() = default;
transfer::transfer(std::unique_ptr<detail::http_transfer> t) noexcept : open_(std::move(t)) {}

bool transfer::write(std::string_view piece) { return open_->write(piece); }
bool transfer::flush() { return open_->flush(); }
bool transfer::finish() { return open_->finish(); }
const answer& transfer::head() { return open_->head(); }
std::size_t transfer::read_some(std::span<std::byte> into) { return open_->read_some(into); }
std::string transfer::read_all(std::size_t most) { return open_->read_all(most); }
std::optional<std::uint64_t> transfer::left() const noexcept { return open_->left(); }
void transfer::abort() noexcept { open_->abort(); }

}  // namespace weft::http

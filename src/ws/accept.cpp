// accept.cpp - the server's side of the handshake, and the conversation behind it.
#include <weft/ws/accept.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include <weft/http/upgrade.hpp>
#include <weft/stop.hpp>

#include "ws/fields.hpp"
#include "ws/holder.hpp"
#include "ws/sha1.hpp"
#include "ws/shared_stream.hpp"

namespace weft::detail::ws {
namespace {

using weft::ws::accept_options;

http::response refusal(int status, std::string_view words) {
    std::string body = std::to_string(status);
    return http::text(status, body.append(": ").append(words).append("\n"));
}

/// \returns  why the request is refused; empty if it is not.
std::optional<http::response> refuse(const http::request& q, const accept_options& o) {
    const auto& h = q.headers();
    if (q.method() != "GET") {
        auto r = refusal(405, "a WebSocket begins with GET");
        r.headers.add("Allow", "GET");
        return r;
    }
    if (!lists(h, "Upgrade", "websocket") || !lists(h, "Connection", "Upgrade") || q.header("Sec-WebSocket-Version") != "13") {
        auto r = refusal(426, "this is a WebSocket of version 13");
        r.headers.add("Upgrade", "websocket");
        r.headers.add("Sec-WebSocket-Version", "13");
        return r;
    }
    const auto keys =
        std::count_if(h.begin(), h.end(), [](const auto& f) { return equal_ignoring_case(f.name, "Sec-WebSocket-Key"); });
    if (keys != 1 || !is_key(trimmed(q.header("Sec-WebSocket-Key")))) return refusal(400, "no Sec-WebSocket-Key of 16 bytes");
    const auto origin = q.header("Origin");
    if (!o.origins.empty() && !origin.empty() && std::find(o.origins.begin(), o.origins.end(), origin) == o.origins.end())
        return refusal(403, "this origin may not connect");
    return {};
}

/// What the server prefers among those that the client offers; empty: none.
std::string choose_protocol(const http::request& q, const accept_options& o) {
    for (const auto& p : o.protocols) {
        bool is_offered = false;
        for_each_element(q.headers(), "Sec-WebSocket-Protocol", [&](std::string_view offered) { is_offered |= offered == p; });
        if (is_offered) return p;
    }
    return {};
}

/// The answer to a right request, still without what goes on behind it.
http::response agree(const http::request& q, const accept_options& o, link_settings& settings) {
    http::response r{.status = 101};
    r.headers.add("Upgrade", "websocket");
    r.headers.add("Sec-WebSocket-Accept", accept_of_key(trimmed(q.header("Sec-WebSocket-Key"))));
    auto protocol = choose_protocol(q, o);
    if (!protocol.empty()) r.headers.add("Sec-WebSocket-Protocol", protocol);
    std::optional<deflate_terms> deflate;
    if (o.deflate)
        if (const auto agreed = choose_offer(q.headers(), wishes_of(o.compression))) {
            deflate = agreed->terms;
            r.headers.add("Sec-WebSocket-Extensions", agreed->answer);
        }
    settings = settings_of(o, side::server, std::move(protocol), deflate);
    return r;
}

/// The failure of the WebSocket itself is no failure of the program.
bool is_own_failure(const link& of, const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::system_error& failure) {
        return failure.code() == weft::ws::errc::closed ||
               (of.has_failed() && &failure.code().category() == &weft::ws::error_category());
    } catch (...) {
        return false;
    }
}

void converse(http::upgraded& u, const weft::ws::conversation& talk, const http::request& q, link_settings settings) {
    auto received = u.take_received();
    const auto held = std::make_shared<holder>(std::move(u.stream()), std::move(settings), std::move(received));
    auto c = connection_access::make(held);
    auto& one = held->one;
    // The call may come after this function has returned.
    u.on_stop([watched = std::weak_ptr(held)] {
        if (const auto h = watched.lock()) h->one.say_goodbye(weft::ws::close_code::going_away);
    });
    std::exception_ptr failure;
    try {
        talk(q, c);
    } catch (const cancelled&) {
        throw;  // c ends it
    } catch (...) {
        failure = std::current_exception();
    }
    if (connection_access::has_link(c))  // it was not moved out
        one.close(failure ? weft::ws::close_code::internal_error : weft::ws::close_code::normal, {});
    if (failure && !is_own_failure(one, failure)) std::rethrow_exception(failure);
}

/// One client of weft::ws::handlers, from the first call to the last.
class session {
public:
    session(std::shared_ptr<const weft::ws::handlers> talk, http::request q, link_settings s)
        : talk_(std::move(talk)), beginning_(new beginning{std::move(q), std::move(s)}) {}

    void turn(http::upgraded& u) {
        try {
            const bool is_first = !held_;
            if (is_first) open(u);
            u.on_stop([this] { held_->one.say_goodbye(weft::ws::close_code::going_away); });
            // A stream that never reads without waiting has something to read after the second call without it.
            const bool may_wait = !is_first && !u.stopping() && was_in_vain_;
            if (take_messages(may_wait)) return u.call_again();
        } catch (const cancelled&) {
            end();
            throw;
        } catch (...) {
            if (!c_) throw;  // there was no memory for it
            const auto failure = std::current_exception();
            const bool is_own = is_own_failure(held_->one, failure);
            if (!is_own) held_->one.close(weft::ws::close_code::internal_error, {});
            end();
            if (!is_own) std::rethrow_exception(failure);
            return;
        }
        end();
    }

private:
    /// What the first call needs. The memory of a head that is assigned to stays with it.
    struct beginning {
        http::request asked;
        link_settings settings;
    };

    void open(http::upgraded& u) {
        const auto first = std::move(beginning_);
        auto received = u.take_received();
        held_ = std::make_shared<holder>(std::move(u.stream()), std::move(first->settings), std::move(received));
        u.stream() = io::byte_stream(shared_stream(std::shared_ptr<io::byte_stream>(held_, &held_->stream)));
        c_.emplace(connection_access::make(held_));
        if (talk_->on_open) talk_->on_open(first->asked, *c_);
    }

    /// \returns  false if the peer has closed it.
    bool take_messages(bool may_wait) {
        was_in_vain_ = true;
        for (weft::ws::message m;;) {
            switch (held_->one.poll(m, std::exchange(may_wait, false))) {
                case polled::nothing: return true;
                case polled::over: return false;
                case polled::message: was_in_vain_ = false; talk_->on_message(*c_, std::move(m));
            }
        }
    }

    void end() {
        if (talk_->on_close && !std::exchange(is_over_, true)) talk_->on_close(*c_);
        c_.reset();  // ends the connection
    }

    const std::shared_ptr<const weft::ws::handlers> talk_;
    std::unique_ptr<beginning> beginning_;
    std::shared_ptr<holder> held_;
    std::optional<weft::ws::connection> c_;
    bool was_in_vain_ = false;
    bool is_over_ = false;
};

}  // namespace
}  // namespace weft::detail::ws

namespace weft::ws {

http::handler accept(conversation talk, accept_options options) {
    using namespace weft::detail::ws;
    if (!talk) throw std::invalid_argument("weft::ws::accept: the conversation is empty");
    check_ping(options.ping, "weft::ws::accept");
    check_compression(options.compression, "weft::ws::accept");
    struct both {
        conversation talk;
        accept_options options;
    };
    return [shared = std::make_shared<const both>(both{std::move(talk), std::move(options)})](const http::request& q) {
        if (auto refused = refuse(q, shared->options)) return std::move(*refused);
        link_settings settings;
        auto r = agree(q, shared->options, settings);
        r.upgrade = [shared, q, settings = std::move(settings)](http::upgraded& u) { converse(u, shared->talk, q, settings); };
        return r;
    };
}

http::handler accept(handlers talk, accept_options options) {
    using namespace weft::detail::ws;
    if (!talk.on_message) throw std::invalid_argument("weft::ws::accept: handlers::on_message is empty");
    check_ping(options.ping, "weft::ws::accept");
    check_compression(options.compression, "weft::ws::accept");
    return [shared = std::make_shared<const handlers>(std::move(talk)),
            o = std::make_shared<const accept_options>(std::move(options))](const http::request& q) {
        if (auto refused = refuse(q, *o)) return std::move(*refused);
        link_settings settings;
        auto r = agree(q, *o, settings);
        settings.is_woken = true;
        const auto one = std::make_shared<session>(shared, q, std::move(settings));
        r.upgrade = [one](http::upgraded& u) { one->turn(u); };
        return r;
    };
}

}  // namespace weft::ws

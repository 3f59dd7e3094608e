// connection_stream.cpp - how a connection sends an answer that a function writes, and gives it up.
#include "http/connection.hpp"

#include <optional>
#include <utility>

namespace weft::detail {
namespace {

bool is_body_error(const std::exception_ptr& e) noexcept try { std::rethrow_exception(e); } catch (const http::body_error&) {
    return true;
} catch (...) {
    return false;
}

}  // namespace

http::response http_connection::unreadable(const http::body_error& e) {
    return http::text(e.status(), std::to_string(e.status()) + ": " + e.what() + "\n");
}

/// Sends the head, and what the answer's function writes. The end of it stays in the buffer.
http_connection::next_step http_connection::stream(exchange& x, const http::response& r, framing f, arriving_body* body,
                                                   delivery& d) {
    const bool may_read_first = body && body->begin_answer();
    const auto before = x.out.size();
    append_head(x.out, r, f, x.date.now());
    streamed_answer answer(*this, x, r, f);
    http::body_writer to(answer);
    std::optional<http::response> instead;
    std::exception_ptr failure;
    try {
        if (may_read_first) answer.flush();
        r.stream(to);
        answer.end();
    } catch (const http::body_error& e) {
        failure = std::current_exception();
        instead = unreadable(e);
    } catch (...) {
        failure = std::current_exception();
        instead = http::text(500, "500 Internal Server Error\n");
    }
    d.bytes = static_cast<std::size_t>(answer.written());
    if (!failure) {
        is_in_answer_ = answer.has_begun();
        return x.out.size() > flush_bytes ? flush(x) : next_step::go_on;
    }
    const bool stopped = stop_is_pending();
    if (answer.has_begun() || stopped) {
        d.bytes = static_cast<std::size_t>(answer.sent_of_body());
        give_stream_up(x, answer, failure);
        return next_step::vanish;
    }
    if (instead->status == 500) service_.report(x.request, failure);
    x.out.resize(before);
    d = {.status = instead->status, .bytes = instead->body.size()};
    return send(x, *instead, {.minor_version = f.minor_version, .keep_alive = f.keep_alive}, d.bytes);
}

/// The client must not take its part of the body for the whole.
void http_connection::give_stream_up(const exchange& x, const streamed_answer& s, std::exception_ptr why) {
    const bool stopped = stop_is_pending();
    if (stopped || s.failed() == sent::too_slow)
        service_.report(http::cut_short{.asked = x.request,
                                        .peer = lent_.peer,
                                        .sent = static_cast<std::size_t>(s.taken()),
                                        .total = static_cast<std::size_t>(s.total()),
                                        .why = stopped ? "the server was stopped" : "the client takes less than min_rate"});
    else if (s.failed() != sent::peer_gone && !is_body_error(why))
        service_.report(x.request, why);
    if (s.has_begun()) stream_.abort();
}

}  // namespace weft::detail

// connection.cpp - how a connection waits, answers and sends, and every way it can end.
#include "http/connection.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include <weft/deadline.hpp>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

constexpr auto linger_time = std::chrono::seconds(1);
// chosen: for a connection that was idle and has a fiber again; it can read at once
constexpr auto first_read = std::chrono::milliseconds(10);

bool asks_to_close(const http::response& r) noexcept {
    const auto value = r.headers.find("Connection");
    return value && equal_ignoring_case(*value, "close");
}

time_point later(time_point now, std::chrono::nanoseconds d) noexcept { return d >= never - now ? never : now + d; }

/// Takes an exchange, and receives into its buffer.
class late_exchange final : public late_buffer {
public:
    late_exchange(exchange_pool& from, const awake_stream& reader) noexcept
        : from_(from), reader_(reader), x_(nullptr, {&from}) {}

    std::span<std::byte> take() noexcept override {
        if (reader_.is_called()) return {};
        try {
            if (!x_) x_ = from_.take();
            return std::as_writable_bytes(x_->in.room());
        } catch (const std::bad_alloc&) {
            return {};
        }
    }
    void give_back() noexcept override { x_.reset(); }

    /// \returns the exchange into which something was received, or null.
    exchange_pool::lease release() noexcept { return std::move(x_); }

private:
    exchange_pool& from_;
    const awake_stream& reader_;
    exchange_pool::lease x_;
};

}  // namespace

http_connection::http_connection(http_service& service, io::byte_stream stream, std::optional<time_point> idle_until)
    : service_(service),
      stream_(std::move(stream)),
      presence_(stream_),
      sender_(stream_, service.options),
      is_idle_(idle_until),
      idle_until_(idle_until.value_or(never)),
      idle_since_(service_.awake.sweeps()),
      may_be_called_(presence_.can_call(stream_)),
      was_idle_(is_idle_) {
    lent_.stream = &stream_;
    if (is_idle_) cold_at_ = deadline_after(service_.cold_after);
    service_.awake.enter(presence_);
}

http_connection::~http_connection() { leave_awake(); }

void http_connection::leave_awake() noexcept {
    if (std::exchange(is_awake_, false)) service_.awake.leave(presence_);
}

io::byte_stream http_connection::take_stream() noexcept {
    leave_awake();  // AWAKE_STREAMS-1: a fiber that hangs it up may still touch the stream
    return std::move(stream_);
}

http_connection::ending http_connection::run() {
    while (const auto x = wait_for_request()) {
        if (!peer_asked_) ask_peer();
        if (known_) x->decoder.exchange_known(*known_, x->request);
        x->request.parts().peer.lend(&lent_);
        const auto next = serve_burst(*x);
        write_log();
        if (next == next_step::upgrade) return ending::upgraded;
        if (next == next_step::close && !peer_is_done(*x)) linger();
        if (next != next_step::go_on) return ending::over;
        x->take_known_out(known_);
    }
    return gives_fiber_up_ ? ending::idle : ending::over;
}

/// Waits while the connection is idle; it holds no exchange then. \returns an exchange with the
/// bytes that have come; null if the connection is over, for whatever reason, or gives its fiber up.
exchange_pool::lease http_connection::wait_for_request() {
    late_exchange into(service_.exchanges, presence_);
    std::error_code error;
    std::size_t n = 0;
    begin_idle();
    for (;;) {
        const bool by_call = may_be_called_ && service_.awake.ends_waits() && !is_idle_ && !has_strayed_;
        if (by_call)
            presence_.set_idle(service_.awake);
        else
            presence_.set_timed();
        // SERVICE-1. What has arrived is read all the same: the last answer has promised that.
        if (service_.hangs_up()) presence_.hang_up();
        n = by_call ? read_until_called(into, error) : read_until_idle_limit(into, error);
        if (!by_call || may_be_called_) break;  // else it has turned out that it cannot be called
    }
    // If it was hung up meanwhile, requests that had arrived before are still served.
    presence_.set_busy();
    auto x = into.release();
    if (n > 0) {
        has_strayed_ = true;
        x->in.received(n);
        received_ += n;
    }
    return x;
}

/// Without a timer: a sweep calls the connection when its limit has passed.
std::size_t http_connection::read_until_called(late_buffer& into, std::error_code& error) {
    const auto n = read_late_socket(stream_, into, error);
    gives_fiber_up_ = false;
    if (!error) return n;
    may_be_called_ = error != std::errc::not_a_socket;
    gives_fiber_up_ =
        error == std::errc::not_enough_memory && presence_.is_called() && service_.cold_after < service_.options.idle_timeout;
    if (gives_fiber_up_) static_cast<void>(idle_until());
    return n;
}

/// Also before it receives something that may be no request, in the middle of a burst.
void http_connection::begin_idle() noexcept {
    if (!is_idle_ && !has_strayed_) idle_since_ = service_.awake.sweeps();
}

std::size_t http_connection::read_until_idle_limit(late_buffer& into, std::error_code& error) {
    const auto limit = idle_until();
    // What is not a request does not extend the limit, so the fiber stays to keep it.
    const auto cold_at = has_strayed_ ? never : cold_at_;
    auto until = std::min(limit, cold_at);
    // It has something to read, even if its fiber comes late to read it.
    if (std::exchange(was_idle_, false)) until = std::max(until, deadline_after(first_read));
    const deadline_frame idle(until);
    const auto n = read_late(stream_, into, error);
    gives_fiber_up_ = error == std::errc::timed_out && cold_at < limit;
    return n;
}

/// Whether the peer has said that this was its last request, and has nothing to send after it that
/// the server would have to read before it closes.
bool http_connection::peer_is_done(const exchange& x) const noexcept {
    const auto& d = x.decoder;
    const auto& method = x.request.method();
    // Some clients send an empty line after a body. A stream of another kind may have something to
    // say when its side is shut down.
    return d.phase() == decode_phase::idle && x.in.unread().empty() && !d.keep_alive() && !d.had_body() &&
           (method == "GET" || method == "HEAD") && source_of(stream_);
}

/// The idle limit counts from the last answer. Input that is not a request, for instance an empty
/// line, does not extend it.
time_point http_connection::idle_until() noexcept {
    if (is_idle_) return idle_until_;
    is_idle_ = true;
    const auto began = clock::now() - service_.awake.since(idle_since_);
    cold_at_ = later(began, service_.cold_after);
    return idle_until_ = later(began, service_.options.idle_timeout);
}

http_connection::next_step http_connection::serve_burst(exchange& x) {
    timed_phase_ = decode_phase::idle;
    for (;;) {
        if (const auto next = answer_received(x); next != next_step::go_on) {
            if (next == next_step::close && flush(x) != next_step::go_on) return next_step::vanish;
            return next;
        }
        if (x.decoder.take_expectation()) x.out.append("HTTP/1.1 100 Continue\r\n\r\n");
        if (const auto next = flush(x); next != next_step::go_on) return next;
        begin_idle();
        if (x.decoder.phase() == decode_phase::idle && x.in.unread().empty()) return next_step::go_on;
        if (const auto next = receive(x); next != next_step::go_on) return next;
    }
}

/// Answers every complete request, and every one whose handler reads the body itself. The answers of
/// one burst leave together.
http_connection::next_step http_connection::answer_received(exchange& x) {
    for (;;) {
        auto result = x.decoder.next_or_head(x.in, x.request);
        if (result == decoded::head && !service_.routes.reads_body(x.request)) result = x.decoder.collect_body(x.in, x.request);
        switch (result) {
            case decoded::more: return next_step::go_on;
            case decoded::refused: return refuse(x, x.decoder.why().status, x.decoder.why().words);
            case decoded::head:
            case decoded::request:
                timed_phase_ = decode_phase::idle;
                is_idle_ = has_strayed_ = false;
                const auto next = result == decoded::head ? answer_arriving(x) : answer(x);
                if (next != next_step::go_on) return next;
        }
    }
}

http_connection::next_step http_connection::answer_arriving(exchange& x) {
    arriving_body body(*this, x);
    lent_.arriving = &body;
    const auto next = answer(x, &body);
    lent_.reader.reset();
    lent_.arriving = nullptr;
    return next == next_step::go_on && !body.is_over() ? next_step::close : next;
}

http_connection::next_step http_connection::answer(exchange& x, arriving_body* body) {
    const bool logged = static_cast<bool>(service_.options.on_access);
    const auto begin = service_.times_answers ? clock::now() : time_point();
    auto response = handle(x.request);
    if (is_broken_) return next_step::vanish;
    if (response.upgrade && body && !body->is_over())
        response = http::text(400, "400 Bad Request: the body was not read before the protocol changes\n");
    framing f{.minor_version = std::as_const(x.request).parts().minor_version, .head_only = x.request.method() == "HEAD"};
    const bool streams = has_stream(response, f);
    f.keep_alive = x.decoder.keep_alive() && !service_.stopping() && !asks_to_close(response);
    if (streams)  // a body that ends with the connection; else its function may still read the request
        f.keep_alive &= f.minor_version > 0 || response.stream_length.has_value();
    else if (body)
        f.keep_alive &= body->is_over();
    delivery d{.status = response.status, .bytes = has_body(response, f) ? response.body.size() : 0};
    const auto next = response.upgrade ? upgrade(x, response, f, d)
                      : streams        ? stream(x, response, f, body, d)
                                       : send(x, response, f, d.bytes);
    if (logged) {
        const auto taken = service_.times_answers ? clock::now() - begin : clock::duration::zero();
        has_reported_ = true;
        service_.report(
            http::access{.asked = x.request, .peer = lent_.peer, .status = d.status, .bytes = d.bytes, .duration = taken});
    }
    if (next != next_step::go_on) return next;
    return f.keep_alive ? next_step::go_on : next_step::close;
}

/// Sends the head, after which nothing of HTTP follows, and hands what has arrived behind the request over.
http_connection::next_step http_connection::upgrade(exchange& x, http::response& r, framing f, delivery& d) {
    append_head(x.out, r, f, x.date.now());
    if (const auto next = send_out(x, {}); next != next_step::go_on) return next;
    d.bytes = 0;
    upgrade_ = {.function = std::move(r.upgrade),
                .method = x.request.method(),
                .target = x.request.target(),
                .received = std::string(x.in.unread())};
    return next_step::upgrade;
}

http_connection::next_step http_connection::refuse(exchange& x, int status, std::string_view words) {
    std::string body = std::to_string(status);
    body.append(" ").append(http::reason(status)).append(": ").append(words).append("\n");
    auto bytes = body.size();
    const auto next = send(x, http::text(status, std::move(body)), {.keep_alive = false}, bytes);
    service_.report(
        http::access{.asked = service_.nothing_asked, .peer = lent_.peer, .status = status, .bytes = bytes, .duration = {}});
    has_reported_ = true;
    return next == next_step::go_on ? next_step::close : next;
}

/// Appends the response to the buffer while it is small; a large body is sent from where it is. If the client
/// does not get all of it, `bytes` is set to the number of bytes of the body that were sent.
http_connection::next_step http_connection::send(exchange& x, const http::response& r, framing f, std::size_t& bytes) {
    append_head(x.out, r, f, x.date.now());
    const std::string_view body = has_body(r, f) ? std::string_view(r.body) : std::string_view{};
    if (x.out.size() + body.size() > flush_bytes) {
        const auto before_body = x.out.size();
        const auto next = send_out(x, body);
        if (next != next_step::go_on) bytes = sender_.sent_of_last() - std::min(sender_.sent_of_last(), before_body);
        return next;
    }
    x.out.append(body);
    return next_step::go_on;
}

http_connection::next_step http_connection::flush(exchange& x) {
    const auto next = x.out.empty() ? next_step::go_on : send_out(x, {});
    write_log();
    return next;
}

/// The lines of answers that have left. So no answer waits for the log, but the next request does.
void http_connection::write_log() noexcept {
    if (std::exchange(has_reported_, false)) service_.write_log();
}

/// Sends the buffer, and then the body.
http_connection::next_step http_connection::send_out(exchange& x, std::string_view body) {
    const auto total = x.out.size() + body.size();
    const auto how = sender_.send(x.out, body);
    x.out.clear();
    const bool cuts_answer = std::exchange(is_in_answer_, false) || sender_.sent_of_last() > 0;
    if (how == sent::whole) return next_step::go_on;
    is_broken_ = true;
    if (how != sent::peer_gone) cut_short(x, how, total);
    if (how != sent::peer_gone && cuts_answer) stream_.abort();
    return next_step::vanish;
}

/// The client is still there, and must not take its part of the answer for the whole.
void http_connection::cut_short(const exchange& x, sent how, std::size_t total) noexcept {
    const auto phase = x.decoder.phase();
    // Otherwise the parts of another request have overwritten x.request.
    const bool known = phase == decode_phase::idle || phase == decode_phase::head;
    service_.report(http::cut_short{.asked = known ? x.request : service_.nothing_asked,
                                    .peer = lent_.peer,
                                    .sent = sender_.taken_of_last(),
                                    .total = total,
                                    .why = how == sent::stopped       ? "the server was stopped"
                                           : how == sent::interrupted ? "the time of the handler of a later request is over"
                                                                      : "the client takes less than min_rate"});
}

/// Called once for each fiber of a connection, since asking for the address costs a system call.
void http_connection::ask_peer() noexcept {
    peer_asked_ = true;
    try {
        lent_.peer = stream_.remote();
    } catch (const std::exception&) {}  // the peer has gone already
}

/// Closing with unread bytes would reset the connection, and the client might lose the answer; so
/// this reads them first.
void http_connection::linger() noexcept {
    std::error_code error;
    const deadline_frame limit(deadline_after(linger_time));
    stream_.shutdown(io::side::send, error);
    std::array<std::byte, 1024> discarded;
    while (!error && stream_.read_some(discarded, error) > 0) {}
}

}  // namespace weft::detail

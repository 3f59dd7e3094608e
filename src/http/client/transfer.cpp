#include "http/client/transfer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/duration_text.hpp"
#include "http/ascii.hpp"
#include "http/client/request_head.hpp"
#include "http/field_list.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

using http::client_errc;

// chosen: as the server collects its answers
constexpr std::size_t collected_at_once = 16 * 1024;
// chosen: a connection that has to read more than this to be kept is not worth it
constexpr std::size_t most_discarded = 64 * 1024;
constexpr auto discard_time = std::chrono::milliseconds(100);
// As curl waits: servers before HTTP/1.1, and some proxies, do not know the expectation.
constexpr auto continue_wait = std::chrono::seconds(1);

bool is_idempotent(std::string_view method) noexcept {
    for (const std::string_view known : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
        if (method == known) return true;
    return false;
}

}  // namespace

template <class F>
auto http_transfer::reported(F&& f) {
    std::optional<client_failure> why;
    {
        const deadline_frame limit(limit_.until);
        try {
            return f();
        } catch (client_failure& failure) {
            why = std::move(failure);
        } catch (const cancelled&) {
            give_up();
            if (!has_expired(limit)) throw;
            why = client_failure{.code = timeout_code(), .words = "no answer within " + duration_text(limit_.length)};
        } catch (...) {
            give_up();
            throw;
        }
    }
    give_up();
    raise(*why);
}

void http_transfer::raise(const client_failure& why) const {
    auto text = "weft: " + hop_.method + " " + shown_url(hop_.url.text());
    if (!why.words.empty()) text.append(": ").append(why.words);
    throw http::client_error(why.code, text, was_sent_.load(relaxed));  // of this side; of the other one a hint
}

/// After a failure the connection is closed at once, and not when the caller drops the transfer.
void http_transfer::give_up() noexcept {
    is_spoilt_.store(true, relaxed);  // read by the same fiber, or after sides_
    const lock_guard guard(lease_mutex_);
    if (lease_ && lease_.is_kept()) lease_.stream().abort();
    verdicts_.release();  // a sender that waits for one goes on
}

void http_transfer::connect() {
    via_ = core_.dialer.proxies().of(hop_.url);
    const auto& first = via_ && !hop_.url.tls ? *via_ : hop_.url;
    auto lease = core_.pool.acquire({.tls = first.tls, .host = first.host, .port = first.port});
    {
        const lock_guard guard(lease_mutex_);
        lease_ = std::move(lease);
    }
}

void http_transfer::append_head() {
    const bool to_proxy = via_ && !hop_.url.tls;
    auto& out = lease_.buffers().out;
    out.clear();
    append_request_head(out, {.method = hop_.method, .url = hop_.url, .to_proxy = to_proxy},
                        {.own = hop_.headers,
                         .common = core_.options.headers,
                         .body = hop_.body,
                         .asks_for_compressed = core_.options.decompress,
                         .expects_continue = hop_.waits_for_continue,
                         .proxy_login = to_proxy ? std::string_view(via_->login) : std::string_view{},
                         .is_first_origin = hop_.is_first_origin});
    const auto& chosen = hop_.headers.contains("Connection") ? hop_.headers : core_.options.headers;
    for_each_element(chosen, "Connection", [&](std::string_view word) { asks_to_close_ |= equal_ignoring_case(word, "close"); });
}

void http_transfer::begin() {
    reported([&] {
        connect();
        append_head();
        if (is_stale()) lease_.drop();
        if (!lease_.is_kept()) lease_.open(core_.dialer.open(hop_.url, via_));
        exchange_.emplace(lease_.stream(), lease_.buffers().in, core_.limits);
    });
}

bool http_transfer::is_repeatable() const noexcept {
    return core_.options.retry == http::retry::idempotent_once && is_idempotent(hop_.method);
}

/// Asks the system whether the server has closed a kept connection, or said something, of which no event has told
/// yet. What was said unasked would be taken for the answer to this request.
bool http_transfer::is_stale() {
    if (!lease_.is_kept()) return false;
    std::byte unasked;
    std::error_code error;
    return lease_.stream().try_read_some({&unasked, 1}, error).has_value() || error;
}

bool http_transfer::may_send_again(const client_failure& why) const noexcept {
    return is_repeatable() && why.is_lost_connection && !exchange_->has_answer();
}

void http_transfer::perform(std::string_view body) {
    reported([&] {
        connect();
        append_head();
        if (is_stale()) lease_.drop();
        for (bool is_kept = lease_.is_kept();; is_kept = false) {
            if (!is_kept) lease_.open(core_.dialer.open(hop_.url, via_));
            exchange_.emplace(lease_.stream(), lease_.buffers().in, core_.limits);
            try {
                send_request(body);
                ensure_head();
                return;
            } catch (const client_failure& failure) {
                sender_ = {};
                const auto& why = send_failure_ && failure.is_lost_connection ? *send_failure_ : failure;
                if (!is_kept || !may_send_again(why)) throw why;
            }
            send_failure_.reset();
            head_.store(head_state::awaited, relaxed);
            sides_.store(0, relaxed);  // no other fiber knows of this transfer yet
            is_refused_ = false;
            is_spoilt_.store(false, relaxed);
            lease_.drop();
        }
    });
}

/// \returns  false if the connection was lost: the server may have answered before, and head() sees.
template <class F>
bool http_transfer::attempted(F&& send) {
    was_sent_.store(true, relaxed);
    try {
        send();
        return true;
    } catch (client_failure& failure) {
        if (!failure.is_lost_connection) throw;
        send_failure_ = std::move(failure);
    }
    is_refused_ = true;
    is_spoilt_.store(true, relaxed);  // read by the same fiber, or after sides_
    return false;
}

/// A server may answer before it has the whole body, and may take no more of it until its answer is read.
void http_transfer::send_request(std::string_view body) {
    if (!attempted([&] { body = exchange_->begin_sending(lease_.buffers().out, body); })) return;
    if (!body.empty() && !limits_fibers(core_.home)) {  // with a limit, all places may be taken by requests
        exchange_->set_other_sends(true);
        sender_ = spawn_in(core_.home, {.name = "http-client body"}, [this, body] { send_rest(body); });
        return;
    }
    if (attempted([&] { exchange_->send(body); })) done(sending);
}

/// The body of sender_.
void http_transfer::send_rest(std::string_view body) noexcept {
    bool is_failed = false;
    try {
        if (attempted([&] { exchange_->send(body); })) done(sending);
    } catch (client_failure& failure) {
        send_failure_ = std::move(failure);
        is_failed = true;
    } catch (...) {  // stopped by finish_sending() or the destructor, or no memory
        is_failed = true;
    }
    if (is_failed) {
        is_spoilt_.store(true, relaxed);  // read after the end of this fiber
        // The fiber that waits for the answer gets this failure instead, so the stream ends before an
        // answer is due.
        auto before = head_state::awaited;
        // relaxed: the reader sees send_failure_ after the end of this fiber
        if (head_.compare_exchange_strong(before, head_state::given_up, relaxed, relaxed)) abort();
    }
    exchange_->set_other_sends(false);
}

void http_transfer::finish_sending() {
    if (!sender_.joinable()) return;
    const bool is_accepted = answer_.status < 300;
    const bool has_ended = sender_.join_until(is_accepted ? limit_.until : std::min(limit_.until, deadline_after(discard_time)));
    sender_ = {};
    if (is_accepted && !has_ended)
        raise({.code = timeout_code(), .words = "the body was not taken within " + duration_text(limit_.length)});
}

/// Sends the head if it is not sent yet, what was collected, and `more`, as one chunk if there are chunks.
/// Behind the last one comes the end of the chunks.
bool http_transfer::send_collected(std::string_view more, bool is_last) {
    if (!agrees()) return false;
    auto& out = lease_.buffers().out;  // it holds what is due before these bytes
    const auto n = collected_.size() + more.size();
    const bool is_chunk = n > 0 && hop_.body.is_chunked();
    if (is_chunk) {
        std::array<char, 16> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n, 16).ptr;
        out.append(digits.data(), end).append("\r\n");
    }
    out.append(collected_);
    collected_.clear();
    if (is_last && hop_.body.is_chunked()) out.append(is_chunk ? "\r\n0\r\n\r\n" : "0\r\n\r\n");
    if (out.empty() && more.empty()) return true;
    const bool sent = attempted([&] { exchange_->send(exchange_->begin_sending(out, more)); });
    out.clear();
    if (is_chunk && !is_last) out.append("\r\n");
    return sent;
}

/// Whether the server wants the body. The first call sends the head and asks, if that is what the caller wants.
bool http_transfer::agrees() {
    if (!hop_.waits_for_continue || std::exchange(has_asked_, true)) return !is_refused_;
    auto& out = lease_.buffers().out;
    if (!attempted([&] { exchange_->begin_sending(out, {}); })) return false;
    out.clear();
    await_verdict();
    const bool is_answered = has_head();  // a server that says nothing does not know the expectation
    // relaxed: behind verdicts_, or of the same fiber
    if (!is_answered && !is_spoilt_.load(relaxed)) return true;
    if (is_agreed_.load(relaxed) && !is_spoilt_.load(relaxed)) return true;
    is_refused_ = true;
    is_spoilt_.store(true, relaxed);  // the server still waits for the body, or for another request
    return false;
}

/// Waits for "100 Continue" or the answer; for a second, and then no longer. TRANSFER-2.
void http_transfer::await_verdict() {
    const std::unique_lock guard(head_mutex_, std::try_to_lock);
    if (!guard) {  // another fiber reads the head
        static_cast<void>(verdicts_.try_acquire_for(continue_wait));
        return;
    }
    const auto until = clock::now() + continue_wait;
    while (!has_head() && !is_agreed_.load(relaxed)) {
        const auto left = until - clock::now();
        if (left <= left.zero() || !exchange_->wait_for_answer(left)) return;
        read_next_head();
    }
}

bool http_transfer::write(std::string_view piece) {
    return reported([&] {
        if (piece.empty()) return !is_refused_;
        if (hop_.body.is_none() || is_ended_ || (!hop_.body.is_chunked() && piece.size() > hop_.body.bytes() - written_))
            fail_request(client_errc::bad_body,
                         "more than the " + std::to_string(hop_.body.bytes()) + " bytes that were announced");
        written_ += piece.size();
        if (!agrees()) return false;
        const bool is_last = !hop_.body.is_chunked() && written_ == hop_.body.bytes();
        if (is_last || collected_.size() + piece.size() >= collected_at_once) return send_collected(piece, false);
        collected_.append(piece);
        return true;
    });
}

bool http_transfer::flush() {
    return reported([&] { return !is_refused_ && (is_ended_ || send_collected({}, false)); });
}

bool http_transfer::finish() {
    return reported([&] {
        if (std::exchange(is_ended_, true)) return !is_refused_;
        if (is_refused_) return false;
        if (!hop_.body.is_chunked() && written_ != hop_.body.bytes())
            fail_request(client_errc::bad_body, "only " + std::to_string(written_) + " of the " +
                                                    std::to_string(hop_.body.bytes()) + " bytes that were announced");
        if (!send_collected({}, true)) return false;
        done(sending);
        return true;
    });
}

void http_transfer::read_next_head() {
    exchange_->read_head(answer_, hop_.method == "HEAD");
    if (exchange_->is_interim()) {
        if (answer_.status != 100) return;
        is_agreed_.store(true, relaxed);  // read by the same fiber, or after verdicts_
        verdicts_.release();
        return;
    }
    answer_.url = hop_.url.text();
    answer_.redirects = hop_.redirects;
    if (!exchange_->is_over()) content_.begin(answer_, core_.options.decompress && answer_.status != 206);
    auto before = head_state::awaited;
    // release pairs with has_head()
    if (!head_.compare_exchange_strong(before, head_state::come, release, relaxed))
        throw client_failure{.code = make_error_code(client_errc::closed_early), .words = {}, .is_lost_connection = true};
    verdicts_.release();
}

void http_transfer::ensure_head() {
    const lock_guard guard(head_mutex_);
    if (has_head()) return;
    do read_next_head();
    while (!has_head());
    if (exchange_->is_over()) done(reading);
}

const http::answer& http_transfer::head() {
    return *reported([&] {
        ensure_head();
        return &answer_;
    });
}

std::size_t http_transfer::read_some(std::span<std::byte> into) {
    return reported([&]() -> std::size_t {
        ensure_head();
        if (into.empty() || (sides_.load(relaxed) & reading) != 0) return 0;
        const auto n = content_.read(*exchange_, into);
        // A reader that knows the length does not ask for the end.
        if (n == 0 || (exchange_->is_over() && !content_.is_decompressed())) done(reading);
        return n;
    });
}

std::string http_transfer::read_all(std::size_t most) {
    return reported([&] {
        ensure_head();
        std::string all;
        if ((sides_.load(relaxed) & reading) != 0) return all;
        content_.read_all(*exchange_, all, most);
        done(reading);
        return all;
    });
}

std::optional<std::uint64_t> http_transfer::left() const noexcept {
    if (!has_head() || content_.is_decompressed()) return std::nullopt;
    return (sides_.load(relaxed) & reading) != 0 ? 0 : exchange_->body_left();
}

void http_transfer::discard_body() {
    reported([&] {
        if ((sides_.load(relaxed) & reading) != 0) return;
        // A connection that ends with the body cannot be kept, and a slow or long body is not worth the wait.
        if (!exchange_->may_be_kept() || exchange_->body_left().value_or(0) > most_discarded) return;
        const deadline_frame soon(deadline_after(discard_time));
        std::array<std::byte, 4096> discarded;
        try {
            for (std::size_t n = 0; n < most_discarded;) {
                const auto some = exchange_->read_body(discarded);
                n += some;
                if (some == 0 || exchange_->is_over()) return done(reading);
            }
        } catch (const client_failure&) {  // the connection is closed then
        } catch (const cancelled&) {
            if (!has_expired(soon)) throw;
        }
    });
}

/// TRANSFER-1.
void http_transfer::done(side s) noexcept {
    // Behind a request that ends the connection nothing may be sent, whatever the server says (RFC 9112, 9.6).
    if (s == reading && (asks_to_close_ || !exchange_->keeps_connection())) is_spoilt_.store(true, relaxed);
    // acq_rel pairs with itself: the side that is done last sees what the other has done before
    if ((sides_.fetch_or(s, acq_rel) | s) != (sending | reading)) return;
    const lock_guard guard(lease_mutex_);
    if (is_spoilt_.load(relaxed))
        lease_ = client_pool::lease();
    else
        lease_.keep();
}

void http_transfer::abort() noexcept {
    const lock_guard guard(lease_mutex_);
    is_spoilt_.store(true, relaxed);  // by the mutex
    if (lease_ && lease_.is_kept()) lease_.stream().abort();
    verdicts_.release();
}

}  // namespace weft::detail

// link.cpp - what callers do with a connection: publish, subscribe, ask and wait.
#include "nats/link.hpp"

#include <algorithm>
#include <stdexcept>

#include <weft/stop.hpp>

#include "base/duration_text.hpp"
#include "nats/nkey.hpp"

namespace weft::detail::nats {

using weft::nats::error;
using weft::nats::nats_errc;

namespace {

std::string random_token() {
    constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::random_device random;
    std::uniform_int_distribution<std::size_t> any(0, digits.size() - 1);
    std::string token;
    for (int i = 0; i < 22; ++i) token += digits[any(random)];
    return token;
}

weft::nats::client_options checked(weft::nats::client_options o) {
    check_subject(o.inbox_prefix);
    if (o.pending_bytes == 0) throw std::invalid_argument("nats: client_options::pending_bytes must be 1 or more");
    if (o.reconnect_pause <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("nats: client_options::reconnect_pause must be more than zero");
    if (!o.nkey.empty() && !o.nkey_file.empty()) throw std::invalid_argument("nats: client_options has both nkey and nkey_file");
    if (!o.nkey_file.empty()) o.nkey = read_nkey_file(o.nkey_file);
    if (!o.nkey.empty()) static_cast<void>(sign_nonce(o.nkey, "a nonce"));  // a wrong seed is told at once
    return o;
}

std::string checked_headers(const weft::nats::headers& h) {
    if (h.empty()) return {};
    check_headers(h);
    return write_headers(h);
}

}  // namespace

link::link(weft::nats::client_options o)
    : options_(checked(std::move(o))),
      inbox_(options_.inbox_prefix + "." + random_token()),
      servers_(options_.servers),
      chance_(std::random_device{}()) {}

void link::check_open() const {
    if (state_ == state::closed) throw error(nats_errc::closed, "nats: " + why_.text);
    if (drains_) throw error(nats_errc::closed, "nats: the client is drained");
}

void link::wake_writer() {
    if (!writer_sleeps_) return;
    writer_sleeps_ = false;
    wake_.set();
}

/// \returns  false if there is no room and `full` is refuse, or room has not come in time.
bool link::append(lock_type& lock, std::string_view subject, std::string_view payload, std::string_view reply,
                  const std::string& header_block, at_full full, time_point until) {
    const auto size = header_block.size() + payload.size();
    const auto needed = size + subject.size() + reply.size() + 32;  // 32: the verb, numbers and line ends
    for (;;) {
        check_open();
        const auto most = info_.max_payload != 0 ? info_.max_payload : std::size_t{1} << 20;
        if (size > most)
            throw error(nats_errc::payload_too_large,
                        "nats: a payload of " + std::to_string(size) + " bytes; the server takes " + std::to_string(most));
        if (state_ == state::connected && !header_block.empty() && !info_.headers)
            throw error(nats_errc::no_headers, "nats: the server " + info_.version + " takes no headers");
        if (needed <= options_.pending_bytes - std::min(publish_.size(), options_.pending_bytes)) break;
        if (state_ == state::connected) {
            if (publish_.empty()) break;  // a message larger than the whole buffer
            if (full == at_full::refuse) return false;
            if (room_.wait_until(lock, until) == std::cv_status::timeout) return false;
            continue;
        }
        ++refused_;
        throw error(nats_errc::buffer_full, "nats: " + std::to_string(options_.pending_bytes) +
                                                " bytes wait already, and there is no connection: " + why_.text);
    }
    append_publish(publish_, subject, reply, header_block, payload);
    ++published_;
    ++stats_.published;
    stats_.published_bytes += size;
    wake_writer();
    return true;
}

bool link::publish(std::string_view subject, std::string_view payload, const weft::nats::publish_options& how, at_full full) {
    check_subject(subject);
    if (!how.reply.empty()) check_subject(how.reply);
    const auto block = checked_headers(how.headers);
    lock_type lock(lock_);
    return append(lock, subject, payload, how.reply, block, full, never);
}

std::shared_ptr<subscriber> link::subscribe(std::string_view subject, const weft::nats::subscribe_options& how) {
    check_pattern(subject);
    if (!how.queue.empty()) check_subject(how.queue);
    const lock_type lock(lock_);
    check_open();
    const auto made = std::make_shared<subscriber>(++last_sid_, std::string(subject), how, spares_);
    subscribers_.emplace(made->sid, made);
    if (state_ == state::connected) {
        append_subscribe(subscribe_, subject, how.queue, made->sid);
        wake_writer();
    }
    return made;
}

/// Under the lock.
void link::remove(subscriber& s) {
    stats_.undelivered += s.lost;
    subscribers_.erase(s.sid);
    s.messages.close();
}

void link::unsubscribe(subscriber& s) noexcept {
    const lock_type lock(lock_);
    if (!subscribers_.contains(s.sid)) return;
    if (state_ == state::connected && !s.leaves) {
        append_unsubscribe(ask_, s.sid);
        wake_writer();
    }
    remove(s);
}

void link::drain(subscriber& s, std::chrono::nanoseconds limit) {
    {
        const lock_type lock(lock_);
        if (!subscribers_.contains(s.sid)) return;
        s.leaves = true;
        if (state_ == state::connected) append_unsubscribe(ask_, s.sid);
    }
    try {
        flush(limit);
    } catch (...) {
        unsubscribe(s);
        throw;
    }
    unsubscribe(s);
}

std::uint64_t link::lost_by(const subscriber& s) noexcept {
    const lock_type lock(lock_);
    return s.lost;
}

void link::fail_late(const std::string& what) {
    const lock_type lock(lock_);
    if (state_ == state::connecting) throw error(nats_errc::not_connected, "nats: no connection in time: " + why_.text);
    throw timeout_error("nats: " + what);
}

weft::nats::message link::request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                                  const weft::nats::publish_options& how) {
    check_subject(subject);
    const auto until = deadline_in(limit);
    const auto block = checked_headers(how.headers);
    pending_request mine;
    std::uint64_t id = 0;
    {
        lock_type lock(lock_);
        if (!uses_inbox_) {
            uses_inbox_ = true;
            if (state_ == state::connected) append_subscribe(subscribe_, inbox_ + ".*", {}, inbox_sid);
        }
        id = ++last_request_;
        if (append(lock, subject, payload, inbox_ + "." + std::to_string(id), block, at_full::park, until)) {
            mine.batch = batches_;
            requests_.emplace(id, &mine);
        } else {
            id = 0;
        }
    }
    bool in_time = false;
    if (id != 0) {
        const auto forget = [&] {
            const lock_type lock(lock_);  // NATS_LINK-3
            requests_.erase(id);
            in_time |= mine.how != outcome::waiting;
        };
        try {
            in_time = mine.over.wait_until(until);
        } catch (...) {
            forget();
            throw;
        }
        forget();
    }
    if (!in_time) fail_late("no answer to a request to " + std::string(subject) + " within " + duration_text(limit));
    if (mine.how == outcome::lost)
        throw error(nats_errc::connection_lost, "nats: the connection was lost before the answer came");
    if (mine.how == outcome::closed) throw error(nats_errc::closed, "nats: the client was closed before the answer came");
    if (mine.answer.status() == 503 && mine.answer.payload.empty()) throw weft::nats::no_responders(std::string(subject));
    return std::move(mine.answer);
}

void link::await_round(time_point until) {
    round mine;
    {
        lock_type lock(lock_);
        const bool connects = changed_.wait_until(lock, until, [&] { return state_ != state::connecting; });
        if (state_ == state::closed) throw error(nats_errc::closed, "nats: " + why_.text);
        if (!connects) throw error(nats_errc::not_connected, "nats: no connection in time: " + why_.text);
        ask_ += "PING\r\n";
        rounds_.push_back(&mine);
        wake_writer();
    }
    const auto forget = [&] {
        const lock_type lock(lock_);  // NATS_LINK-3
        std::ranges::replace(rounds_, &mine, nullptr);
    };
    try {
        static_cast<void>(mine.over.wait_until(until));
    } catch (...) {
        forget();
        throw;
    }
    forget();
    switch (mine.how) {
        case outcome::done: return;
        case outcome::waiting: throw timeout_error("nats: the server has not answered a ping in time");
        case outcome::lost:
            throw error(nats_errc::connection_lost, "nats: the connection was lost before the server had answered");
        case outcome::closed: throw error(nats_errc::closed, "nats: the client was closed");
    }
}

void link::flush(std::chrono::nanoseconds limit) { await_round(deadline_in(limit)); }

void link::drain(std::chrono::nanoseconds limit) {
    const auto until = deadline_in(limit);
    {
        const lock_type lock(lock_);
        check_open();
        for (const auto& [sid, s] : subscribers_) {
            if (state_ == state::connected && !s->leaves) append_unsubscribe(ask_, sid);
            s->leaves = true;
        }
    }
    await_round(until);
    {
        const lock_type lock(lock_);
        while (!subscribers_.empty()) remove(*std::shared_ptr<subscriber>(subscribers_.begin()->second));
        drains_ = true;
    }
    await_round(until);
    close("the client is drained");
}

/// Under the lock.
void link::end_waits(outcome how) {
    for (auto* const r : rounds_) {
        if (!r) continue;
        r->how = how;
        r->over.set();
    }
    rounds_.clear();
    for (auto at = requests_.begin(); at != requests_.end();) {
        auto& r = *at->second;
        if (how == outcome::lost && r.batch >= batches_) {  // it was not sent yet
            ++at;
            continue;
        }
        at = requests_.erase(at);
        r.how = how;
        r.over.set();
    }
}

void link::close(const std::string& why) noexcept {
    const shield until_closed;
    {
        const lock_type lock(lock_);
        if (state_ == state::closed) return;
        state_ = state::closed;
        why_ = {nats_errc::closed, why};
        const auto dropped = published_ + in_flight_ + refused_;
        stats_.dropped += dropped;
        if (dropped != 0) events_.push_back({weft::nats::event::kind::dropped, {}, dropped});
        published_ = in_flight_ = refused_ = 0;
        publish_.clear();
        end_waits(outcome::closed);
        while (!subscribers_.empty()) remove(*std::shared_ptr<subscriber>(subscribers_.begin()->second));
        events_.push_back({weft::nats::event::kind::closed, why});
        room_.notify_all();
        changed_.notify_all();
    }
    tell();
}

std::string link::new_inbox() {
    const lock_type lock(lock_);
    return inbox_ + "x" + std::to_string(++last_request_);  // no subject below inbox_
}

weft::nats::client_stats link::stats() {
    const lock_type lock(lock_);
    auto now = stats_;
    now.pending_bytes = publish_.size();
    now.subscriptions = subscribers_.size();
    now.connected = state_ == state::connected;
    now.dropped += refused_;
    for (const auto& [sid, s] : subscribers_) now.undelivered += s->lost;
    return now;
}

weft::nats::server_info link::server() {
    const lock_type lock(lock_);
    return info_;
}

}  // namespace weft::detail::nats

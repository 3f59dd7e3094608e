// link_read.cpp - how messages are received, and how a WebSocket is closed.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <weft/deadline.hpp>

#include "io/operation.hpp"
#include "ws/failures.hpp"
#include "ws/link.hpp"

namespace weft::detail::ws {

using weft::ws::errc;

/// Gives the right to read back (LINK-6).
class link::reading {
public:
    explicit reading(link& of) noexcept : of_(of) {}
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() {
        const lock_guard guard(of_.lock_);
        of_.is_reading_ = false;
        if (of_.waiting_ > 0) of_.changed_.notify_all();
    }

private:
    link& of_;
};

std::optional<weft::ws::message> link::receive() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    {
        unique_lock held(lock_);
        while (is_reading_) {
            if (phase_ == phase::open) throw std::logic_error("weft: ws: receive() while another fiber receives");
            wait(held);  // close() drops what comes
        }
        if (phase_ == phase::closed) return {};
        if (phase_ == phase::failed) throw_failed(failure_, cause_);
        is_reading_ = true;
    }
    const reading turn(*this);
    return read_message();
}

polled link::poll(weft::ws::message& into, bool may_wait) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    {
        unique_lock held(lock_);
        while (is_reading_) wait(held);
        if (phase_ == phase::closed) return polled::over;
        if (phase_ == phase::failed) throw_failed(failure_, cause_);
        is_reading_ = true;
    }
    const reading turn(*this);
    for (;;) {
        if (const auto found = decode(into); found != polled::nothing) return found;
        if (std::exchange(may_wait, false))
            read_more();
        else if (!try_read_more())
            return polled::nothing;
    }
}

std::optional<weft::ws::message> link::read_message() {
    weft::ws::message m;
    for (;;) {
        switch (decode(m)) {
            case polled::message: return m;
            case polled::over: return {};
            case polled::nothing: read_more();
        }
    }
}

/// Takes a message from what has been read.
polled link::decode(weft::ws::message& into) {
    using event = frame_reader::event;
    while (!unread_.empty()) {
        switch (frames_.next(unread_)) {
            case event::more:
            case event::pong: break;
            case event::message: into = finished_message(); return polled::message;
            case event::ping: answer_ping(); break;
            case event::close: take_close(); return polled::over;
            case event::broken: give_up(frames_.failure());
        }
    }
    return polled::nothing;
}

void link::begin_read() {
    buffer_.release();
    std::string().swap(received_);
    unread_ = {};
    bool has_to_write = false;
    {
        const lock_guard guard(lock_);
        has_to_write = has_output() && !is_writing_;  // LINK-4
    }
    if (has_to_write) write_at_once();
}

/// Reads at least a byte.
void link::read_more() {
    begin_read();
    std::error_code error;
    unread_ = buffer_.read(stream_, error);
    if (is_interrupt(error)) throw_io_error(error, "weft: ws: receive");
    static_cast<void>(has_read(error));
}

/// \returns  whether there was something to read.
bool link::try_read_more() {
    begin_read();
    std::error_code error;
    const auto got = buffer_.try_read(stream_, error);
    if (!got) return false;
    unread_ = *got;
    return has_read(error);
}

/// \returns  true. Fails at the end of the stream.
bool link::has_read(std::error_code error) {
    was_heard_.store(true, relaxed);  // a hint for the sweep
    if (!unread_.empty()) return true;
    fail(errc::abnormal, error);
    throw_failure();
}

weft::ws::message link::finished_message() {
    weft::ws::message m{.kind = frames_.is_text() ? weft::ws::kind::text : weft::ws::kind::binary,
                        .data = frames_.take_payload()};
    if (!frames_.is_compressed()) return m;
    std::string plain;
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(settings_.max_message, std::string().max_size() / 2));
    if (const auto wrong = deflate_->decompress(m.data, most, plain)) give_up(*wrong);
    if (m.kind == weft::ws::kind::text && !is_utf8(plain)) give_up(errc::invalid_text);
    m.data = std::move(plain);
    return m;
}

void link::answer_ping() {
    {
        const lock_guard guard(lock_);
        // A peer that pings and takes no answers gets fewer: the last one counts. [RFC6455, 5.5.3]
        if (phase_ != phase::open || out_.size() > most_of_control * 64) return;
        append({.what = opcode::pong}, frames_.control());
        if (is_writing_) return;
    }
    write_at_once();
}

void link::take_close() {
    const auto payload = frames_.control();
    weft::ws::ending e{.code = weft::ws::close_code::none};
    if (payload.size() >= 2) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(payload[i])); };
        e.code = static_cast<std::uint16_t>(byte(0) << 8 | byte(1));
        e.reason = payload.substr(2);
    }
    {
        const lock_guard guard(lock_);
        peer_ = std::move(e);
        if (phase_ == phase::open) append_close(payload.substr(0, 2), phase::closed);
        if (phase_ == phase::closing) phase_ = phase::closed;
        if (waiting_ > 0) changed_.notify_all();
    }
    finish_stream();
}

/// The peer has broken a rule: tells it so, and ends the stream in such a way that it can read that.
void link::give_up(errc why) {
    {
        const lock_guard guard(lock_);
        if (phase_ == phase::open) append_close(close_payload(close_code_of(why), {}), phase::closing);
        fail_locked(why, {});
    }
    buffer_.release();
    unread_ = {};
    try {
        with_timeout(linger_time, [&] {
            write_rest();
            stream_.shutdown_send();
            read_to_the_end();
        });
    } catch (const std::system_error&) {}
    stream_.close();
    throw_failure();
}

/// What is in the output, and with another writer what that is writing.
void link::write_rest() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    unique_lock held(lock_);
    while (is_writing_) wait(held);
    if (has_output()) write_out(held);
}

void link::read_to_the_end() {
    std::array<std::byte, 1024> dropped;
    while (stream_.read_some(dropped) > 0) {}
}

/// After both close frames: the server ends the stream first. [RFC6455, 7.1.1]
void link::finish_stream() {
    buffer_.release();
    unread_ = {};
    try {
        with_timeout(close_time, [&] {
            write_rest();
            if (settings_.self == side::client) read_to_the_end();
        });
    } catch (const std::system_error&) {}
    stream_.close();
}

bool link::close(std::uint16_t code, std::string_view reason) {
    if (!is_close_code(code)) throw std::invalid_argument("weft: ws: close() with the code " + std::to_string(code));
    {
        const lock_guard guard(lock_);
        if (phase_ == phase::open) append_close(close_payload(code, reason), phase::closing);
    }
    try {
        with_timeout(close_time, [&] { await_close(); });
    } catch (const std::system_error& e) {
        fail(errc::abnormal, e.code());
    }
    const lock_guard guard(lock_);
    return phase_ == phase::closed;
}

void link::await_close() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    write_rest();
    unique_lock held(lock_);
    while (phase_ == phase::closing || is_reading_) {
        if (is_reading_) {
            wait(held);
            continue;
        }
        is_reading_ = true;
        held.unlock();
        {
            const reading turn(*this);
            while (read_message()) {}
        }
        held.lock();
    }
}

}  // namespace weft::detail::ws

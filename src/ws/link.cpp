// link.cpp - how messages are sent, and what the sweep does.
#include "ws/link.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <weft/deadline.hpp>

#include "fiber/interrupts.hpp"
#include "io/operation.hpp"
#include "ws/failures.hpp"

namespace weft::detail::ws {

using weft::ws::errc;

namespace {

// chosen: what is stored behind a write under way
constexpr std::size_t most_output = 64 * 1024;
constexpr unsigned most_rounds = 8;
// chosen: kept for the next message
constexpr std::size_t kept_output = 2048;

}  // namespace

link::link(io::byte_stream& stream, link_settings s, std::string received)
    : stream_(stream),
      settings_(std::move(s)),
      frames_(settings_.self, {.max_message = settings_.max_message, .may_be_compressed = settings_.deflate.has_value()}),
      received_(std::move(received)),
      unread_(received_),
      heard_at_(clock::now()),
      pinged_at_(heard_at_) {
    if (settings_.self == side::client) keys_ = std::make_unique<random_keys>();
    if (settings_.deflate) deflate_ = std::make_unique<deflate_codec>(*settings_.deflate, settings_.level);
    enter();
}

link::~link() { leave(); }

bool link::is_open() const noexcept {
    const lock_guard guard(lock_);
    return phase_ == phase::open;
}

bool link::has_failed() const noexcept {
    const lock_guard guard(lock_);
    return phase_ == phase::failed;
}

weft::ws::ending link::peer_ending() const {
    const lock_guard guard(lock_);
    return peer_;
}

void link::wait(std::unique_lock<weft::mutex>& held) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    struct count {
        explicit count(unsigned& n) noexcept : n_(n) { ++n_; }
        count(const count&) = delete;
        count& operator=(const count&) = delete;
        ~count() { --n_; }
        unsigned& n_;
    };
    const count one(waiting_);
    changed_.wait(held);
}

void link::check_open() const {
    if (phase_ == phase::open) return;
    if (phase_ == phase::failed) throw_failed(failure_, cause_);
    throw std::system_error(errc::closed, "weft: ws: send");
}

void link::append(frame_form form, std::string_view payload) {
    if (keys_) form.mask = keys_->next();
    append_frame(out_, form, payload);
}

/// LINK-2
void link::append_close(std::string_view payload, phase next) {
    append({.what = opcode::close}, payload);
    phase_ = next;
    if (waiting_ > 0) changed_.notify_all();
}

void link::wait_for_room(std::unique_lock<weft::mutex>& held) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    check_open();
    while (is_writing_ && (out_.size() >= most_output || rounds_ >= most_rounds)) {
        wait(held);
        check_open();
    }
}

void link::send(opcode what, std::string_view payload) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    check_interrupt();
    if (what == opcode::text && !is_utf8(payload)) throw std::invalid_argument("weft: ws: send() of a text that is not UTF-8");
    frame_form form{.what = what};
    const bool is_packed = deflate_ && !is_control(what) && payload.size() >= settings_.least;
    unique_lock held(lock_);
    wait_for_room(held);
    if (!is_packed) {
        append(form, payload);
    } else {
        // What is compressed must be sent, as the next message refers to it: so the wait for room comes before.
        held.unlock();
        form.is_compressed = true;
        const auto turn = deflate_->keeps_context() ? std::unique_lock(compressing_) : std::unique_lock<weft::mutex>();
        const auto packed = deflate_->compress(payload);
        held.lock();
        check_open();
        append(form, packed);
    }
    if (!is_writing_) write_out(held);
}

void link::take_output() {
    if (sent_ < sending_.size()) return;  // LINK-4
    sending_.clear();
    sent_ = 0;
    std::swap(out_, sending_);
    ++rounds_;
}

void link::finish_writing() noexcept {
    is_writing_ = false;
    if (!has_output()) {
        sending_.clear();
        sent_ = 0;
        if (sending_.capacity() > kept_output) std::string().swap(sending_);
        if (out_.capacity() > kept_output) std::string().swap(out_);
    }
    if (waiting_ > 0) changed_.notify_all();
}

void link::write_out(std::unique_lock<weft::mutex>& held) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    is_writing_ = true;
    rounds_ = 0;
    std::error_code error;
    while (!error && has_output()) {
        take_output();
        if (waiting_ > 0) changed_.notify_all();
        held.unlock();
        const auto n = stream_.write_all(std::string_view(sending_).substr(sent_), error);
        held.lock();
        sent_ += n;
    }
    finish_writing();
    if (!error) return;
    held.unlock();
    if (is_interrupt(error)) throw_io_error(error, "weft: ws: send");
    fail(errc::abnormal, error);
    throw_failure();
}

/// LINK-7
void link::write_at_once() noexcept {
    std::error_code error;
    {
        unique_lock held(lock_);
        if (is_writing_) return;
        is_writing_ = true;
        rounds_ = 0;
        while (!error && has_output()) {
            take_output();
            held.unlock();
            const auto n = stream_.try_write_some(std::as_bytes(std::span(sending_).subspan(sent_)), error);
            held.lock();
            if (!n || *n == 0) break;
            sent_ += *n;
        }
        finish_writing();
    }
    if (error && error != std::errc::operation_would_block) fail(errc::abnormal, error);
}

void link::fail_locked(errc why, std::error_code cause) noexcept {
    if (phase_ == phase::closed || phase_ == phase::failed) return;
    phase_ = phase::failed;
    failure_ = why;
    cause_ = cause;
    changed_.notify_all();
}

void link::fail(errc why, std::error_code cause) noexcept {
    bool may_sleep = false;
    {
        const lock_guard guard(lock_);
        fail_locked(why, cause);
        may_sleep = settings_.is_woken && !is_reading_ && !is_writing_;
    }
    if (!may_sleep) return stream_.abort();
    // The end of a descriptor wakes operations, and one that sleeps has none. The fiber that comes closes it.
    std::error_code ignored;
    stream_.shutdown(io::side::receive, ignored);
}

void link::throw_failure() {
    const lock_guard guard(lock_);
    if (phase_ == phase::failed) throw_failed(failure_, cause_);
    throw std::system_error(errc::closed, "weft: ws");
}

void link::say_goodbye(std::uint16_t code) noexcept try {
    {
        const lock_guard guard(lock_);
        if (phase_ == phase::open) append_close(close_payload(code, {}), phase::closing);
    }
    write_at_once();
} catch (const std::bad_alloc&) {}

void link::end_now() noexcept {
    say_goodbye(weft::ws::close_code::going_away);
    stream_.close();
}

void link::look(time_point now) noexcept try {
    // relaxed: a hint, and late by one look at most
    if (was_heard_.load(relaxed)) {
        was_heard_.store(false, relaxed);
        heard_at_ = now;
    }
    std::optional<errc> dead;
    bool has_to_write = false;
    {
        const lock_guard guard(lock_);
        const auto limit = settings_.ping;
        if (phase_ == phase::closing) {
            if (closing_since_ == never) closing_since_ = now;
            if (now - closing_since_ >= close_time) dead = errc::abnormal;
        } else if (phase_ == phase::open && limit != no_limit) {
            // Where nobody reads, an answer cannot be heard.
            if (!is_reading_ && !settings_.is_woken && now - heard_at_ > limit) heard_at_ = now - limit;
            if (now - heard_at_ >= 2 * limit) {
                dead = errc::silent;
            } else if (now - heard_at_ >= limit && now - pinged_at_ >= limit) {
                pinged_at_ = now;
                append({.what = opcode::ping}, {});
            }
        }
        has_to_write = has_output() && !is_writing_;
    }
    if (dead) return fail(*dead);
    if (has_to_write) write_at_once();
} catch (const std::bad_alloc&) {}

}  // namespace weft::detail::ws

// wire.hpp - connections in memory that cost a server next to nothing, for tests with very many of them.
//
// A test makes all its wires first. What a server holds for each of them is then what grows.
//
// Invariants
//   A waiter is claimed and taken out of `readers` under `lock`, and unparked without it (WAITER-1).
//   `events` grows with everything that a reader may wait for, so a look that has seen it and a later
//   enlist() miss nothing.
#pragma once

#include <weft/channel.hpp>
#include <weft/event.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/endpoint.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/spin_lock.hpp"
#include "fiber/interrupts.hpp"
#include "fiber/wake_all.hpp"
#include "io/operation.hpp"
#include "sched/wait/wait_on.hpp"

namespace weft::test {

/// What one client asks, and what it gets. It lives as long as the server may write to it.
struct question {
    std::string request, answer;
    event more{event::automatic};
};

/// One connection: the test is the client, and a `wire_stream` is the server's end.
class wire {
public:
    /// The server reads the request from now on, and writes into the answer.
    void ask(question& q) {
        change([&]() WEFT_REQUIRES(lock_) {
            asked_ = &q;
            unread_ = q.request;
        });
    }
    void hang_up() {
        change([&]() WEFT_REQUIRES(lock_) { is_over_ = true; });
    }
    std::string answer() {
        const detail::lock_guard guard(lock_);
        return asked_->answer;
    }
    bool closed_by_server() {
        const detail::lock_guard guard(lock_);
        return is_closed_;
    }

private:
    friend class wire_stream;
    friend class wire_readiness;

    void close() noexcept {
        change([&]() WEFT_REQUIRES(lock_) { is_closed_ = true; });
    }

    template <class F>
    void change(F&& f) {
        detail::wait_list woken;
        {
            const detail::lock_guard guard(lock_);
            f();
            ++events_;
            claim_all(readers_, woken);
        }
        unpark_all(woken);
    }
    bool is_ready() const WEFT_REQUIRES(lock_) { return !unread_.empty() || is_over_ || is_closed_; }

    detail::spin_lock lock_;
    bool is_over_ WEFT_GUARDED_BY(lock_) = false;    // the server reads no more than is there
    bool is_closed_ WEFT_GUARDED_BY(lock_) = false;  // by the server
    std::uint32_t events_ WEFT_GUARDED_BY(lock_) = 0;
    std::string_view unread_ WEFT_GUARDED_BY(lock_);
    question* asked_ WEFT_GUARDED_BY(lock_) = nullptr;
    detail::wait_list readers_ WEFT_GUARDED_BY(lock_);
};

class wire_readiness final : public detail::select_watch {
public:
    explicit wire_readiness(wire& of) noexcept : wire_(of) {}

    void open() noexcept override {}
    void close() noexcept override {}
    state look() noexcept override {
        const detail::lock_guard guard(wire_.lock_);
        seen_ = wire_.events_;
        return wire_.is_ready() ? state::ready : state::idle;
    }
    bool enlist(detail::waiter& w) noexcept override {
        const detail::lock_guard guard(wire_.lock_);
        if (wire_.events_ != seen_) return false;
        wire_.readers_.push_back(w);
        return true;
    }
    void delist(detail::waiter& w) noexcept override {
        const detail::lock_guard guard(wire_.lock_);
        wire_.readers_.remove(w);
    }

private:
    wire& wire_;
    std::uint32_t seen_ = 0;
};

/// The server's end. It fits into a byte_stream.
class wire_stream {
public:
    explicit wire_stream(wire& of) noexcept : wire_(&of) {}
    wire_stream(wire_stream&& other) noexcept : wire_(std::exchange(other.wire_, nullptr)) {}
    wire_stream& operator=(wire_stream&&) = delete;
    ~wire_stream() { close(); }

    void wait_readable(std::error_code& error) {
        static constexpr detail::wait_kind wire_wait{.name = "wire"};
        error.clear();
        for (;;) {
            wire_->lock_.lock();
            if (wire_->is_ready()) return wire_->lock_.unlock();
            if (wait_on(wire_->lock_, wire_->readers_, {.kind = wire_wait, .object = wire_}) == detail::wait_end::notified)
                continue;
            error = detail::interrupt_error(detail::interrupt_reason());
            return;
        }
    }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        wait_readable(error);
        if (error) return 0;
        const detail::lock_guard guard(wire_->lock_);
        const auto n = std::min(into.size(), wire_->unread_.size());
        if (n > 0) std::memcpy(into.data(), wire_->unread_.data(), n);
        wire_->unread_.remove_prefix(n);
        return n;
    }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) {
        error.clear();
        question* to = nullptr;
        {
            const detail::lock_guard guard(wire_->lock_);
            to = wire_->asked_;
            if (to) to->answer.append(reinterpret_cast<const char*>(from.data()), from.size());
        }
        if (to) to->more.set();
        return from.size();
    }
    std::size_t read_some(std::span<std::byte> into) {
        std::error_code error;
        const auto n = read_some(into, error);
        if (error) detail::throw_io_error(error, "wire: read");
        return n;
    }
    std::size_t write_some(std::span<const std::byte> from) {
        std::error_code error;
        return write_some(from, error);
    }
    void shutdown(io::side which, std::error_code& error) {
        error.clear();
        if (which != io::side::send) wire_->hang_up();
    }
    void close() noexcept {
        if (wire_) wire_->close();
    }
    bool is_open() const noexcept {
        if (!wire_) return false;
        const detail::lock_guard guard(wire_->lock_);
        return !wire_->is_closed_;
    }
    friend wire_readiness watch_readable(const wire_stream& s) noexcept { return wire_readiness(*s.wire_); }

private:
    wire* wire_;
};

/// Accepts the wires that are sent to its channel.
class wire_listener {
public:
    explicit wire_listener(channel<wire*> from) : from_(std::move(from)) {}

    io::byte_stream accept(std::error_code& error) {
        error.clear();
        if (const auto next = from_.receive()) return wire_stream(**next);
        error = std::make_error_code(std::errc::bad_file_descriptor);
        return {};
    }
    net::endpoint local() const { return {.host = "memory", .port = 1}; }
    void close() noexcept { from_.close(); }
    bool is_open() const noexcept { return !from_.closed(); }

private:
    channel<wire*> from_;
};

}  // namespace weft::test

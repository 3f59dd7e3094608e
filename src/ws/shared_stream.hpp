// shared_stream.hpp - a stream that stays where it is, while an http::upgraded has it in its hands and moves it about.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <weft/io/byte_stream.hpp>

namespace weft::detail::ws {

/// The readiness of another stream, on the heap, where it has room.
class shared_readiness final : public select_watch {
public:
    explicit shared_readiness(io::byte_stream& of) noexcept : of_(of) {}

    void open() noexcept override {
        inner_.reset(new (std::nothrow) io::byte_readiness(of_));
        if (inner_) inner_->open();
    }
    // Without memory it counts as ready.
    state look() noexcept override { return inner_ ? inner_->look() : state::ready; }
    bool enlist(waiter& w) noexcept override { return inner_ && inner_->enlist(w); }
    void delist(waiter& w) noexcept override {
        if (inner_) inner_->delist(w);
    }
    time_point ready_at() const noexcept override { return inner_ ? inner_->ready_at() : never; }
    void close() noexcept override {
        if (inner_) inner_->close();
        inner_.reset();
    }

private:
    io::byte_stream& of_;
    std::unique_ptr<io::byte_readiness> inner_;
};

class shared_stream {
public:
    explicit shared_stream(std::shared_ptr<io::byte_stream> of) noexcept : of_(std::move(of)) {}

    std::size_t read_some(std::span<std::byte> into) { return of_->read_some(into); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& e) { return of_->read_some(into, e); }
    std::size_t write_some(std::span<const std::byte> from) { return of_->write_some(from); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& e) { return of_->write_some(from, e); }
    std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& e) {
        return of_->try_read_some(into, e);
    }
    std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& e) {
        return of_->try_write_some(from, e);
    }
    std::size_t write_all(stream_pieces pieces, std::error_code& e) { return of_->write_all(pieces, e); }
    void wait_readable(std::error_code& e) { of_->wait_readable(e); }
    void shutdown(io::side which, std::error_code& e) { of_->shutdown(which, e); }
    void close() noexcept { of_->close(); }
    void abort() noexcept { of_->abort(); }
    bool is_open() const noexcept { return of_->is_open(); }
    std::size_t unacknowledged() const noexcept { return of_->unacknowledged(); }
    net::endpoint remote() const { return of_->remote(); }

    friend shared_readiness watch_readable(const shared_stream& s) noexcept { return shared_readiness(*s.of_); }
    friend io_source* source_of(const shared_stream& s) noexcept { return source_of(*s.of_); }

private:
    std::shared_ptr<io::byte_stream> of_;
};

}  // namespace weft::detail::ws

// byte_stream.cpp - the closed stream, the throwing forms, and moving.
#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>

#include <weft/detail/io_readiness.hpp>

#include "io/operation.hpp"
#include "io/reporting.hpp"

namespace weft::io {
namespace {

/// What a byte_stream holds that was not given a stream, or was moved from.
class closed_stream {
public:
    static std::size_t fail(std::error_code& error) noexcept {
        error = detail::closed_error();
        return 0;
    }

    std::size_t read_some(std::span<std::byte> /*into*/, std::error_code& error) { return fail(error); }
    std::size_t write_some(std::span<const std::byte> /*from*/, std::error_code& error) { return fail(error); }
    std::size_t write_all(detail::stream_pieces /*pieces*/, std::error_code& error) { return fail(error); }
    std::optional<std::size_t> try_read_some(std::span<std::byte> /*into*/, std::error_code& error) { return fail(error); }
    std::optional<std::size_t> try_write_some(std::span<const std::byte> /*from*/, std::error_code& error) { return fail(error); }
    void wait_readable(std::error_code& error) { fail(error); }
    void shutdown(side /*which*/, std::error_code& error) { fail(error); }
    void close() noexcept {}
    bool is_open() const noexcept { return false; }

    // A closed stream is ready: the read says what is wrong.
    friend detail::io_readiness watch_readable(const closed_stream& /*s*/) noexcept { return detail::io_readiness(nullptr); }
};

/// Throws if there is an error, else returns `value`.
template <class T>
T value_of(T value, std::error_code error, const char* what) {
    if (error) detail::throw_io_error(error, what);
    return value;
}

constexpr const char* reading = "weft: read";
constexpr const char* writing = "weft: write";

}  // namespace

void byte_stream::hold_closed() noexcept {
    operations_ = &detail::operations_on<closed_stream>::table;
    ::new (room_.bytes) closed_stream;
}

std::size_t byte_stream::read_some(std::span<std::byte> into) {
    std::error_code error;
    const auto n = read_some(into, error);
    return value_of(n, error, reading);
}

std::optional<std::size_t> byte_stream::try_read_some(std::span<std::byte> into) {
    std::error_code error;
    const auto n = try_read_some(into, error);
    return value_of(n, error, reading);
}

void byte_stream::wait_readable() {
    std::error_code error;
    wait_readable(error);
    if (error) detail::throw_io_error(error, reading);
}

std::size_t byte_stream::write_some(std::span<const std::byte> from) {
    std::error_code error;
    const auto n = write_some(from, error);
    return value_of(n, error, writing);
}

std::optional<std::size_t> byte_stream::try_write_some(std::span<const std::byte> from) {
    std::error_code error;
    const auto n = try_write_some(from, error);
    return value_of(n, error, writing);
}

void byte_stream::write_all(std::span<const std::byte> from) {
    std::error_code error;
    write_all(from, error);
    if (error) detail::throw_io_error(error, writing);
}

std::size_t byte_stream::write_all(std::span<const std::byte> from, std::error_code& error) {
    return io::write_all(*this, from, error);
}

void byte_stream::write_all(std::span<const std::span<const std::byte>> pieces) {
    std::error_code error;
    write_all(pieces, error);
    if (error) detail::throw_io_error(error, writing);
}

void byte_stream::shutdown(side which) {
    std::error_code error;
    shutdown(which, error);
    if (error) detail::throw_io_error(error, "weft: shutdown");
}

net::endpoint byte_stream::remote(std::error_code& error) const {
    return detail::reporting(error, [&] { return remote(); });
}

byte_stream byte_listener::accept() {
    std::error_code error;
    auto peer = accept(error);
    if (error) detail::throw_io_error(error, "weft: accept");
    return peer;
}

int byte_stream::native_handle() const noexcept {
    const auto* const s = source_of(*this);
    return s && !s->closing() ? s->descriptor() : -1;
}

void byte_readiness::open() noexcept {
    held_ = &stream_->operations_->make_watch(stream_->room_, room_);
    held_->open();
}

void byte_readiness::close() noexcept {
    held_->close();
    stream_->operations_->destroy_watch(*held_);
}

}  // namespace weft::io

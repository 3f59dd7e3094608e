// buffered_reader.cpp - the buffer behind buffered_reader, independent of the type of stream.
#include <weft/io/buffered_reader.hpp>

#include <algorithm>
#include <cstring>

namespace weft::detail {

namespace {

std::size_t fail(std::errc reason, const char* what, std::error_code* error) {
    if (!error) throw std::system_error(std::make_error_code(reason), what);
    *error = std::make_error_code(reason);
    return 0;
}

}  // namespace

read_buffer::read_buffer(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

/// Reads once, into room for at least one byte. Over several calls the room grows until `wanted`
/// unread bytes fit, if that is more than the capacity. Returns how many bytes came; 0 at the end
/// of the stream and on failure.
std::size_t read_buffer::fill(byte_source from, std::size_t wanted, std::error_code* error) {
    const std::size_t kept = end_ - begin_;
    if (begin_ != 0) std::memmove(bytes_.data(), bytes_.data() + begin_, kept);
    begin_ = 0;
    end_ = kept;
    const std::size_t least = std::max(capacity_, std::min(2 * kept, wanted));
    if (kept == 0 && bytes_.size() > capacity_) std::string().swap(bytes_);  // BUFFERED_READER-2
    if (bytes_.size() < least) bytes_.resize(least);
    const auto room = std::as_writable_bytes(std::span(bytes_)).subspan(kept);
    const std::size_t n = from.read(from.stream, room, error);
    end_ += n;
    return n;
}

std::size_t read_buffer::find(byte_source from, std::string_view delimiter, std::size_t max, std::error_code* error) {
    if (error) error->clear();
    if (delimiter.empty()) return fail(std::errc::invalid_argument, "weft: read to an empty delimiter", error);
    for (std::size_t looked_at = 0;;) {
        const auto seen = unread().substr(0, max);
        const auto found = seen.find(delimiter, looked_at - std::min(looked_at, delimiter.size() - 1));
        if (found != std::string_view::npos) return found + delimiter.size();
        looked_at = seen.size();
        if (looked_at == max) return fail(std::errc::message_size, "weft: read to a delimiter", error);
        if (fill(from, max, error) == 0) return error && *error ? 0 : looked_at;
    }
}

std::size_t read_buffer::read_some(byte_source from, std::span<std::byte> into, std::error_code* error) {
    if (error) error->clear();
    if (into.empty()) return 0;
    if (unread().empty()) {
        if (into.size() >= capacity_) return from.read(from.stream, into, error);
        if (fill(from, 0, error) == 0) return 0;
    }
    const auto n = std::min(into.size(), unread().size());
    std::memcpy(into.data(), unread().data(), n);
    take(n);
    return n;
}

std::size_t read_buffer::read_exact(byte_source from, std::span<std::byte> into, std::error_code* error) {
    if (error) error->clear();
    for (std::size_t done = 0; done < into.size();) {
        const auto n = read_some(from, into.subspan(done), error);
        if (n == 0 && !(error && *error)) fail(std::errc::connection_aborted, "weft: early end of stream", error);
        if (n == 0) return done;
        done += n;
    }
    return into.size();
}

}  // namespace weft::detail

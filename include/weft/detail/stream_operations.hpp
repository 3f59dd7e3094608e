// stream_operations.hpp - what io::byte_stream can do with the stream that it holds, as a table.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/select_core.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {

class io_source;
class late_buffer;

/// Where a byte_stream keeps its stream: inside, if the stream fits and its move cannot throw, else
/// on the heap.
struct WEFT_EXPORT stream_room {
    alignas(void*) std::byte bytes[3 * sizeof(void*)];
};

template <class S>
inline constexpr bool fits_in_room =
    sizeof(S) <= sizeof(stream_room) && alignof(S) <= alignof(stream_room) && std::is_nothrow_move_constructible_v<S>;

template <class S>
S& stream_in(stream_room& room) noexcept {
    if constexpr (fits_in_room<S>)
        return *std::launder(reinterpret_cast<S*>(room.bytes));
    else
        return **std::launder(reinterpret_cast<S**>(room.bytes));
}

template <class S>
const S& stream_in(const stream_room& room) noexcept {
    return stream_in<S>(const_cast<stream_room&>(room));
}

/// Where a byte_stream's select case keeps the case of its stream.
struct WEFT_EXPORT watch_room {
    alignas(void*) std::byte bytes[8 * sizeof(void*)];
};

using stream_pieces = std::span<const std::span<const std::byte>>;

/// One table per type of stream. Every operation has the form with an error code.
struct stream_operations {
    const std::type_info* type;
    void (*move)(stream_room& from, stream_room& to) noexcept;  // `to` is empty, and `from` is then
    void (*destroy)(stream_room&) noexcept;
    std::size_t (*read_some)(stream_room&, std::span<std::byte>, std::error_code&);
    std::size_t (*write_some)(stream_room&, std::span<const std::byte>, std::error_code&);
    std::size_t (*write_all)(stream_room&, stream_pieces, std::error_code&);
    std::optional<std::size_t> (*try_read_some)(stream_room&, std::span<std::byte>, std::error_code&);
    std::optional<std::size_t> (*try_write_some)(stream_room&, std::span<const std::byte>, std::error_code&);
    void (*wait_readable)(stream_room&, std::error_code&);
    void (*shutdown)(stream_room&, io::side, std::error_code&);
    void (*close)(stream_room&) noexcept;
    void (*abort)(stream_room&) noexcept;
    bool (*is_open)(const stream_room&) noexcept;
    std::size_t (*unacknowledged)(const stream_room&) noexcept;
    net::endpoint (*remote)(const stream_room&);
    io_source* (*source)(const stream_room&) noexcept;
    io_source* (*below)(const stream_room&) noexcept;
    std::size_t (*late_read)(stream_room&, late_buffer&, std::error_code&);
    select_watch& (*make_watch)(const stream_room&, watch_room&) noexcept;
    void (*destroy_watch)(select_watch&) noexcept;
};

/// Writes the pieces one after the other, for a stream that cannot write them as one.
template <class S>
std::size_t write_each(S& to, stream_pieces pieces, std::error_code& error) {
    std::size_t total = 0;
    error.clear();
    for (const auto piece : pieces) {
        total += io::write_all(to, piece, error);
        if (error) break;
    }
    return total;
}

template <class S>
using watch_of = std::remove_cvref_t<decltype(watch_readable(std::declval<const S&>()))>;

// What a stream need not have.

template <class S>
concept writes_pieces = requires(S& s, stream_pieces pieces, std::error_code& error) {
    { s.write_all(pieces, error) } -> std::same_as<std::size_t>;
};
template <class S>
concept tries_to_read = requires(S& s, std::span<std::byte> into, std::error_code& error) { s.try_read_some(into, error); };
template <class S>
concept tries_to_write =
    requires(S& s, std::span<const std::byte> from, std::error_code& error) { s.try_write_some(from, error); };
template <class S>
concept aborts = requires(S& s) { s.abort(); };
template <class S>
concept knows_unacknowledged = requires(const S& s) { s.unacknowledged(); };
template <class S>
concept knows_remote = requires(const S& s) { s.remote(); };
template <class S>
concept of_source = requires(const S& s) { source_of(s); };
template <class S>
concept over_source = requires(const S& s) { source_below(s); };
template <class S>
concept reads_late = requires(S& s, late_buffer& into, std::error_code& error) { read_late(s, into, error); };

/// The entries of the table for S.
template <class S>
struct operations_on {
    static void move(stream_room& from, stream_room& to) noexcept {
        if constexpr (fits_in_room<S>) {
            ::new (to.bytes) S(std::move(stream_in<S>(from)));
            stream_in<S>(from).~S();
        } else {
            ::new (to.bytes) S*(&stream_in<S>(from));
        }
    }
    static void destroy(stream_room& r) noexcept {
        if constexpr (fits_in_room<S>)
            stream_in<S>(r).~S();
        else
            delete &stream_in<S>(r);
    }

    static std::size_t read_some(stream_room& r, std::span<std::byte> into, std::error_code& error) {
        return stream_in<S>(r).read_some(into, error);
    }
    static std::size_t write_some(stream_room& r, std::span<const std::byte> from, std::error_code& error) {
        return stream_in<S>(r).write_some(from, error);
    }
    static std::size_t write_all(stream_room& r, stream_pieces pieces, std::error_code& error) {
        if constexpr (writes_pieces<S>)
            return stream_in<S>(r).write_all(pieces, error);
        else
            return write_each(stream_in<S>(r), pieces, error);
    }
    static std::optional<std::size_t> try_read_some(stream_room& r, std::span<std::byte> into, std::error_code& error) {
        if constexpr (tries_to_read<S>) return stream_in<S>(r).try_read_some(into, error);
        error.clear();
        return std::nullopt;
    }
    static std::optional<std::size_t> try_write_some(stream_room& r, std::span<const std::byte> from, std::error_code& error) {
        if constexpr (tries_to_write<S>) return stream_in<S>(r).try_write_some(from, error);
        error.clear();
        return std::nullopt;
    }
    static void wait_readable(stream_room& r, std::error_code& error) { stream_in<S>(r).wait_readable(error); }

    static void shutdown(stream_room& r, io::side which, std::error_code& error) { stream_in<S>(r).shutdown(which, error); }
    static void close(stream_room& r) noexcept { stream_in<S>(r).close(); }
    static void abort(stream_room& r) noexcept {
        if constexpr (aborts<S>)
            stream_in<S>(r).abort();
        else
            stream_in<S>(r).close();
    }
    static bool is_open(const stream_room& r) noexcept { return stream_in<S>(r).is_open(); }

    static std::size_t unacknowledged(const stream_room& r) noexcept {
        if constexpr (knows_unacknowledged<S>)
            return stream_in<S>(r).unacknowledged();
        else
            return 0;
    }
    static net::endpoint remote(const stream_room& r) {
        if constexpr (knows_remote<S>)
            return stream_in<S>(r).remote();
        else
            return {};
    }
    static io_source* source(const stream_room& r) noexcept {
        if constexpr (of_source<S>)
            return source_of(stream_in<S>(r));
        else
            return nullptr;
    }
    static io_source* below(const stream_room& r) noexcept {
        if constexpr (over_source<S>)
            return source_below(stream_in<S>(r));
        else
            return source(r);
    }
    static std::size_t late_read(stream_room& r, late_buffer& into, std::error_code& error) {
        if constexpr (reads_late<S>) return read_late(stream_in<S>(r), into, error);
        error = std::make_error_code(std::errc::not_a_socket);
        return 0;
    }

    static select_watch& make_watch(const stream_room& r, watch_room& room) noexcept {
        static_assert(sizeof(watch_of<S>) <= sizeof(watch_room) && alignof(watch_of<S>) <= alignof(watch_room));
        return *::new (room.bytes) watch_of<S>(watch_readable(stream_in<S>(r)));
    }
    static void destroy_watch(select_watch& w) noexcept { static_cast<watch_of<S>&>(w).~watch_of<S>(); }

    static constexpr stream_operations table{.type = &typeid(S),
                                             .move = move,
                                             .destroy = destroy,
                                             .read_some = read_some,
                                             .write_some = write_some,
                                             .write_all = write_all,
                                             .try_read_some = try_read_some,
                                             .try_write_some = try_write_some,
                                             .wait_readable = wait_readable,
                                             .shutdown = shutdown,
                                             .close = close,
                                             .abort = abort,
                                             .is_open = is_open,
                                             .unacknowledged = unacknowledged,
                                             .remote = remote,
                                             .source = source,
                                             .below = below,
                                             .late_read = late_read,
                                             .make_watch = make_watch,
                                             .destroy_watch = destroy_watch};
};

}  // namespace weft::detail

// stream.hpp - what a stream of bytes is, so that protocols can be tested in memory.
#pragma once

#include <weft/detail/requirements.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

namespace weft::detail {

/// What write_some() takes besides bytes. A template whose argument is a std::string_view unless
/// another is deduced, it takes what a function of a std::string_view takes, but `write_some({})`
/// is not ambiguous: it is that of no bytes.
template <class T>
concept text_like = std::convertible_to<const T&, std::string_view>;

inline std::span<const std::byte> text_bytes(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

}  // namespace weft::detail

namespace weft::io {

/// One direction of a stream, or both, for shutdown(): what this end receives, and what it sends.
enum class side { receive, send, both };

/// read_some() reads at least one byte and returns how many; 0 at the end of the stream.
template <class S>
concept readable = requires(S& s, std::span<std::byte> into, std::error_code& error) {
    { s.read_some(into) } -> std::same_as<std::size_t>;
    { s.read_some(into, error) } -> std::same_as<std::size_t>;
};

/// write_some() writes at least one byte, unless there is nothing to write, and returns how many.
template <class S>
concept writable = requires(S& s, std::span<const std::byte> from, std::error_code& error) {
    { s.write_some(from) } -> std::same_as<std::size_t>;
    { s.write_some(from, error) } -> std::same_as<std::size_t>;
};

template <class S>
concept stream = readable<S> && writable<S>;

/// Fills the buffer from any stream.
///
/// \throws  std::system_error connection_aborted if the stream ends first; what read_some() throws.
/// \parks   as read_some() does.
template <readable S>
void read_exact(S& from, std::span<std::byte> into) {
    while (!into.empty()) {
        const std::size_t n = from.read_some(into);
        if (n == 0) throw std::system_error(std::make_error_code(std::errc::connection_aborted), "weft: early end of stream");
        into = into.subspan(n);
    }
}

/// \returns  how many bytes were read, also on failure.
template <readable S>
std::size_t read_exact(S& from, std::span<std::byte> into, std::error_code& error) {
    error.clear();
    std::size_t done = 0;
    while (!error && done < into.size()) {
        const std::size_t n = from.read_some(into.subspan(done), error);
        if (!error && n == 0) error = std::make_error_code(std::errc::connection_aborted);
        done += n;
    }
    return done;
}

/// Writes everything to any stream.
///
/// \parks  as write_some() does.
template <writable S>
void write_all(S& to, std::span<const std::byte> from) {
    while (!from.empty()) from = from.subspan(to.write_some(from));
}

template <writable S>
void write_all(S& to, std::string_view from) {
    write_all(to, std::as_bytes(std::span(from)));
}

/// \returns  how many bytes were written, also on failure.
template <writable S>
std::size_t write_all(S& to, std::span<const std::byte> from, std::error_code& error) {
    error.clear();
    std::size_t done = 0;
    while (!error && done < from.size()) done += to.write_some(from.subspan(done), error);
    return done;
}

template <writable S>
std::size_t write_all(S& to, std::string_view from, std::error_code& error) {
    return write_all(to, std::as_bytes(std::span(from)), error);
}

}  // namespace weft::io

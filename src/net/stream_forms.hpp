// stream_forms.hpp - what tcp::stream and unix_socket::stream do alike besides io/socket_io.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "io/operation.hpp"

namespace weft::detail {

inline std::optional<std::size_t> report_try(io_result r, std::error_code& error) noexcept {
    const bool would_wait = r.error == std::errc::operation_would_block;
    error = would_wait ? std::error_code() : r.error;
    return would_wait ? std::nullopt : std::optional(r.count);
}

inline std::optional<std::size_t> count_or_throw(io_result r, const char* what) {
    std::error_code error;
    const auto count = report_try(r, error);
    if (error) throw_io_error(error, what);
    return count;
}

inline void throw_if(std::error_code error, const char* what) {
    if (error) throw_io_error(error, what);
}

/// Calls f with the descriptor, unless the stream is closed.
template <class F>
std::error_code with_descriptor(io_source* s, F&& f) noexcept {
    const operation_guard guard(s);
    if (!guard) return closed_error();
    return f(s->descriptor());
}

/// Reads piece by piece: looks at the bytes that are there, then takes those that belong to the
/// result.
io_result read_through(io_source* s, std::string_view delimiter, std::size_t max, std::string& text);

/// How many bytes the system still has to send, or for the peer to take; 0 once closed.
std::size_t queued_to_send(io_source* s) noexcept;

}  // namespace weft::detail

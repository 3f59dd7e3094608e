// io_status.hpp - the status of an operation that reports by an error code, and waits with a timeout.
#pragma once

#include <weft/deadline.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/detail/select_core.hpp>

#include <array>
#include <system_error>

#include "capi/status.hpp"

namespace weft::capi {

inline weft_status io_status(const std::error_code& error, const char* function) noexcept {
    if (!error) return WEFT_OK;
    // A deadline that the program has set, not the ETIMEDOUT of a connection.
    if (error == detail::timeout_code() || error == std::errc::operation_canceled) return WEFT_CANCELED;
    if (error == std::errc::bad_file_descriptor) return WEFT_CLOSED;
    return guarded([&] { return fail(WEFT_ESYSTEM, std::string(function) + ": " + error.message(), errno_of(error)); });
}

/// Waits for a descriptor. The timeout counts inside a shield, too, which a deadline would not.
///
/// \returns  whether it was ready in time.
/// \parks    until then. \throws cancelled
inline bool wait_ready(detail::io_readiness watch, detail::time_point until) {
    using detail::select_kind;
    std::array<detail::select_entry, 2> entries{
        {{.kind = select_kind::watch, .watch = &watch}, {.kind = select_kind::timeout, .until = until}}};
    std::array<detail::select_order, 2> order;
    std::array<detail::select_registration, 2> registrations;
    return detail::select_core(entries, order.data(), registrations.data()) == 0;
}
/// \returns  whether it is ready now.
inline bool is_ready(detail::io_readiness watch) {
    detail::select_entry entry{.kind = detail::select_kind::watch, .watch = &watch};
    return detail::select_now(entry);
}

}  // namespace weft::capi

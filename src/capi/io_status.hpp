// io_status.hpp - runs an operation that reports by an error code, within a timeout.
#pragma once

#include <weft/deadline.hpp>

#include <optional>
#include <system_error>

#include "capi/status.hpp"

namespace weft::capi {

/// \param is_ours  whether a deadline of the call itself has interrupted the operation
inline weft_status io_status(const std::error_code& error, const char* function, bool is_ours, std::int64_t timeout_ns) noexcept {
    if (!error) return WEFT_OK;
    const bool is_deadline = error == detail::timeout_code();  // not the ETIMEDOUT of a connection
    if (is_deadline && is_ours) return too_late(timeout_ns);
    if (is_deadline || error == std::errc::operation_canceled) return WEFT_CANCELED;
    if (error == std::errc::bad_file_descriptor) return WEFT_CLOSED;
    return guarded([&] { return fail(WEFT_ESYSTEM, std::string(function) + ": " + error.message(), errno_of(error)); });
}

/// Calls operation(std::error_code&), and interrupts it when the timeout has passed. \parks
template <class F>
weft_status within(const char* function, std::int64_t timeout_ns, F&& operation) noexcept {
    return guarded([&]() -> weft_status {
        std::optional<detail::deadline_frame> frame;
        if (timeout_ns != WEFT_FOREVER) frame.emplace(deadline_of(timeout_ns));
        std::error_code error;
        operation(error);
        return io_status(error, function, error && frame && detail::has_expired(*frame), timeout_ns);
    });
}

}  // namespace weft::capi

// error.hpp - every failure of a Redis command, as one type.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <stdexcept>
#include <string>

namespace weft::redis {

enum class error_kind {
    reply,  ///< the server answered with an error; the connection is intact
    /// There is no connection, or it was lost before the reply came. In that case it is unknown
    /// whether the command ran.
    connection,
    /// The command was not sent: it must not run on a shared connection, or is too large.
    refused,
};

/// A command failed. what() says why, and names the server if the connection is the cause.
class WEFT_EXPORT error : public std::runtime_error {
public:
    error(error_kind kind, const std::string& reason) : std::runtime_error(reason), kind_(kind) {}

    [[nodiscard]] error_kind kind() const noexcept { return kind_; }

private:
    error_kind kind_;
};

}  // namespace weft::redis

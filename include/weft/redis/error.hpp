// error.hpp - what goes wrong between a program and its Redis, in one type.
#pragma once

#include <weft/detail/requirements.hpp>

#include <stdexcept>
#include <string>

namespace weft::redis {

enum class error_kind {
    reply,       ///< the server answered with an error; the connection is sound
    connection,  ///< no connection, or it was lost before the reply: nobody knows whether the command ran
    refused,     ///< the command was not sent: it does not belong on a shared connection, or is too large
};

/// A command failed. what() says why, and names the server where the connection is to blame.
class error : public std::runtime_error {
public:
    error(error_kind kind, const std::string& reason) : std::runtime_error(reason), kind_(kind) {}

    error_kind kind() const noexcept { return kind_; }

private:
    error_kind kind_;
};

}  // namespace weft::redis

// failed_reply.hpp - turns an error that the server has replied into the exception that says it.
#pragma once

#include <string>

#include <weft/redis/value.hpp>

namespace weft::detail::redis {

/// \throws  redis::error of kind reply, with the server's words. Those of a cluster that redirect to
///          another server are explained.
[[noreturn]] void throw_failed(const std::string& text);

/// The reply, unless it is an error. \throws redis::error of kind reply
inline weft::redis::value successful(weft::redis::value reply) {
    if (const auto* failure = std::get_if<weft::redis::error_reply>(&reply.content())) throw_failed(failure->text);
    return reply;
}

}  // namespace weft::detail::redis

// opening.hpp - opens a connection to a server and logs in, the same way for every connection.
#pragma once

#include <string>

#include <weft/io/byte_stream.hpp>
#include <weft/redis/client.hpp>

#include "redis/codec.hpp"
#include "redis/refusal.hpp"
#include "redis/url.hpp"

namespace weft::detail::redis {

/// What all connections of a client have in common. Sessions and subscriptions keep it alive, since
/// they may outlive the client.
struct settings {
    settings(std::string_view address, const weft::redis::client_options& o)
        : url(parse_url(address)), options(o), rules(o.module_commands), protocol(checked_protocol(o.protocol)) {
        if (!options.connect) check_path_of_socket(url);
        if (url.tls && !options.tls)
            throw std::invalid_argument("redis: the URL begins with rediss://, which needs client_options::tls, a tls::context");
    }

    const server_url url;
    const weft::redis::client_options options;
    const command_rules rules;
    const resp protocol;

private:
    static resp checked_protocol(int number);
};

/// Connects, and chooses user, protocol and database, within connect_timeout.
/// \parks   until the server has answered.
/// \throws  cancelled; what connect() throws, or a std::exception that says what the server has
///          refused.
io::byte_stream open_stream(const settings&, decoder&, resp protocol);

/// What has ended a connection, in words. For a handler of exceptions; passes `cancelled` on.
std::string reason_of_current_exception();

}  // namespace weft::detail::redis

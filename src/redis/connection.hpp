// connection.hpp - one connection to a server: its fibers open it, write, read, and notice silence.
#pragma once

#include <string>

#include <weft/io/byte_stream.hpp>
#include <weft/redis/client.hpp>

#include "redis/codec.hpp"
#include "redis/command_queue.hpp"
#include "redis/url.hpp"

namespace weft::detail::redis {

class connection {
public:
    connection(const server_url&, const weft::redis::client_options&);

    /// The body of the reader fiber: connects when needed, serves until the connection is lost, and
    /// repeats. Ends when stopped.
    void run();

    command_queue& commands() noexcept { return commands_; }

private:
    std::string serve_once();
    io::byte_stream open(decoder&);
    void log_in(io::byte_stream&, decoder&);
    void write_commands(io::byte_stream&, std::error_code& failed);
    void read_replies(io::byte_stream&, decoder&);
    void watch_silence(io::byte_stream&, std::string& given_up);
    time_point next_attempt() const noexcept;

    const server_url& url_;
    const weft::redis::client_options& options_;
    command_queue commands_;
    unsigned failures_ = 0;  // attempts since the server last answered a command
};

}  // namespace weft::detail::redis

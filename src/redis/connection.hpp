// connection.hpp - one shared connection: its fibers open it, write, read, and notice silence.
#pragma once

#include <string>

#include <weft/io/byte_stream.hpp>

#include "redis/codec.hpp"
#include "redis/command_queue.hpp"
#include "redis/opening.hpp"

namespace weft::detail::redis {

class connection {
public:
    explicit connection(const settings&);

    /// The body of the reader fiber: connects when needed, serves until the connection is lost, and
    /// repeats. Ends when stopped.
    void run();

    command_queue& commands() noexcept { return commands_; }

private:
    std::string serve_once();
    void write_commands(io::byte_stream&);
    void read_replies(io::byte_stream&, decoder&);
    void watch_silence();

    const settings& settings_;
    command_queue commands_;
    unsigned failures_ = 0;  // attempts since the server last answered a command
};

}  // namespace weft::detail::redis

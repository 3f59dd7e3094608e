// listener.hpp - the connection that serves all subscriptions of a client.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <weft/io/byte_stream.hpp>

#include "base/atomic.hpp"
#include "redis/opening.hpp"
#include "redis/topics.hpp"

namespace weft::detail::redis {

class listener {
public:
    listener(const settings& of, topics& heard) noexcept : settings_(of), topics_(heard) {}

    /// The body of a fiber: connects while there are topics, subscribes to all of them, delivers
    /// messages until the connection is lost, and repeats. Ends when stopped.
    void run();

private:
    /// Looks at the other fiber's progress: whether the server has been silent for too long.
    class patience;

    /// Why the writer has ended a connection.
    struct ending {
        bool unused = false;  // there are no topics any more
        std::string given_up;  // the reason, if it is the writer's
    };

    std::optional<std::string> serve_once();
    void write_questions(io::byte_stream&, ending&);
    /// Returns when there are no topics any more.
    void write_while_wanted(io::byte_stream&);
    void read_messages(io::byte_stream&, decoder&);

    const settings& settings_;
    topics& topics_;
    unsigned failures_ = 0;  // attempts since a connection last worked
    std::optional<time_point> answered_at_;  // of this connection: when the first answer was accepted
    // Written by the reader, and read by the writer to tell silence; relaxed, as nothing else is read
    // because of them.
    atomic<std::uint64_t> arrivals_ = 0;
    atomic<bool> delivers_ = false;  // a receiver may hold the reader up
};

}  // namespace weft::detail::redis

// client.hpp - a Redis client that straight-line fibers share: their commands travel together on few connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/redis/argument.hpp>
#include <weft/redis/error.hpp>
#include <weft/redis/value.hpp>

namespace weft::redis {

struct client_options {
    unsigned connections = 0;                                     ///< 0: one per worker
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    std::size_t max_reply_bytes = std::size_t{512} << 20;         ///< a longer reply ends the connection
    std::size_t max_waiting = std::size_t{1} << 20;               ///< commands per connection; one more is refused
    /// Nothing has come from the server for so long though a reply is due: the connection is lost. Zero: never.
    std::chrono::nanoseconds silence_timeout = std::chrono::seconds(60);
    /// Commands of modules, and of servers newer than this client, that the program vouches for: each answers exactly once and leaves the
    /// connection as it was. {"GRAPH.QUERY", "CLIENT|NEW-SUBCOMMAND"}
    std::vector<std::string> module_commands = {};
};

/// Talks RESP2 to one server. Made and destroyed inside a runtime; its members may be called from any fiber or thread.
///
/// Connects when first needed. The commands that the fibers of one turn issue are sent by one write and answered in order.
/// A lost connection fails the commands that wait for a reply, and none is ever repeated; the next command reconnects.
/// While the server cannot be reached commands fail at once with the reason, and it is tried again after 50 ms, doubling to 2 s.
///
/// Every command
/// \parks   until its reply is there. A stopped or timed-out caller leaves at once; its reply is consumed all the same.
/// \throws  redis::error; weft::cancelled if this fiber is asked to stop first.
/// \cost    its share of one write and one read per turn.
class client {
public:
    /// `url` is redis://[[user]:password@]host[:port][/database]. Does not wait for the server.
    /// \throws  std::invalid_argument naming the part of the URL, or the option; std::logic_error outside a runtime.
    explicit client(std::string_view url, client_options = {});

    /// Fails what still waits, closes, and waits for its fibers, shielded.
    ~client();

    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// \returns  the string under `key`; empty if there is none.
    std::optional<std::string> get(std::string_view key);

    void set(std::string_view key, std::string_view text);
    /// A key that expires after `lifetime`, which is at least one millisecond.
    void set(std::string_view key, std::string_view text, std::chrono::milliseconds lifetime);

    /// \returns  how many of the keys existed.
    template <class... Keys>
    std::int64_t del(const Keys&... keys) {
        return command("DEL", keys...).integer();
    }

    /// Any command that answers exactly once and leaves the connection as it was: db.command("HSET", "user:1", "age", 42). Those of
    /// Redis up to 8.4, its modules, Valkey and Sentinel are known; others are named in client_options::module_commands.
    /// \throws  redis::error of kind reply if the server answers with an error; of kind refused for what would block or
    ///          change the connection for everybody (MULTI, WATCH, SUBSCRIBE, SELECT, BLPOP, ...) and for what is not known.
    template <class... Words>
    value command(std::string_view name, const Words&... words) {
        const argument line[] = {name, words...};
        return run(line);
    }
    value command(std::span<const std::string> words);

    /// Sends all at once, waits once: db.pipeline({{"SET", "a", 1}, {"INCR", "a"}}). Not a transaction.
    /// \returns  one value per command, in order; an error_reply where the server answered with an error.
    std::vector<value> pipeline(std::initializer_list<std::initializer_list<argument>> commands);
    std::vector<value> pipeline(std::span<const std::vector<std::string>> commands);

private:
    value run(std::span<const argument> words);

    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::redis

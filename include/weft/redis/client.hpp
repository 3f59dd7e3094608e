// client.hpp - a Redis client shared by many fibers: their commands travel together.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/redis/argument.hpp>
#include <weft/redis/error.hpp>
#include <weft/redis/value.hpp>

namespace weft::redis {

/// How a client connects, its limits, and commands that it should trust. Each limit takes
/// weft::no_limit.
struct client_options {
    unsigned connections = 0;                                     ///< 0: one per worker
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    /// A longer reply ends the connection.
    std::size_t max_reply_bytes = std::size_t{512} << 20;
    /// The most commands waiting per connection; one more is refused.
    std::size_t max_waiting = std::size_t{1} << 20;
    /// If a reply is due and nothing has come from the server for this long, the connection is
    /// lost. no_limit or zero: never.
    std::chrono::nanoseconds silence_timeout = std::chrono::seconds(60);
    /// Commands of modules, and of servers newer than this client, for which the program guarantees
    /// that each answers exactly once and leaves the connection unchanged. Example:
    /// {"GRAPH.QUERY", "CLIENT|NEW-SUBCOMMAND"}
    std::vector<std::string> module_commands = {};
    /// Opens the connections, instead of tcp::stream::connect(): through a Unix socket, a tunnel,
    /// or a net::simulated_network. It is given the host and port of the URL, and runs on a fiber
    /// of the client within connect_timeout; it may park and throw. What it throws is the reason
    /// that commands fail with.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
};

/// A client of one server, in RESP2:
///
///     weft::redis::client db("redis://127.0.0.1:6379");
///     db.set("greeting", "hello");
///     std::optional<std::string> text = db.get("greeting");
///
/// It is created and destroyed inside a runtime; any fiber or thread may call its members. See
/// docs/guide/5-service.md.
///
/// It connects when first used. The commands of all fibers that could run when the client's writer
/// woke are sent by one write, and answered in order. When a connection is lost, the commands that
/// wait for a reply fail, and no command is ever repeated; the next command reconnects. While the
/// server cannot be reached, commands fail at once with the reason, and the client tries again
/// after 50 ms, doubling to 2 s.
///
/// Every command
/// \parks   until its reply is there. A stopped or timed-out caller leaves at once, by `cancelled`;
///          its reply is read later and dropped.
/// \throws  redis::error; weft::cancelled if this fiber is asked to stop first.
/// \cost    its share of one write and one read.
class WEFT_EXPORT client {
public:
    /// `url` is redis://[[user]:password@]host[:port][/database]. The constructor does not wait for
    /// the server.
    /// \throws  std::invalid_argument naming the part of the URL, or the option; std::logic_error
    ///          outside a runtime.
    explicit client(std::string_view url, client_options = {});

    /// Fails the commands that still wait, closes the connections, and waits for its fibers without
    /// being interrupted (shielded).
    ~client();

    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// \returns  the string stored under `key`; empty if there is none.
    std::optional<std::string> get(std::string_view key);

    void set(std::string_view key, std::string_view text);
    /// Sets a key that expires after `lifetime`, which is more than zero and is rounded up to
    /// milliseconds.
    void set(std::string_view key, std::string_view text, std::chrono::milliseconds lifetime);
    template <class Rep, class Period>
    void set(std::string_view key, std::string_view text, const std::chrono::duration<Rep, Period>& lifetime) {
        set(key, text, std::chrono::ceil<std::chrono::milliseconds>(detail::saturated(lifetime)));
    }

    /// \returns  how many of the keys existed.
    template <class... Keys>
    std::int64_t del(const Keys&... keys) {
        return command("DEL", keys...).integer();
    }

    /// Runs any command that answers exactly once and leaves the connection unchanged:
    /// `db.command("HSET", "user:1", "age", 42)`. The client knows the commands of Redis up to 8.4,
    /// its modules, Valkey and Sentinel; others must be listed in client_options::module_commands.
    /// \throws  redis::error of kind reply if the server answers with an error; of kind refused for
    ///          a command that would block the connection or change it for all its users (MULTI,
    ///          WATCH, SUBSCRIBE, SELECT, BLPOP, ...), and for an unknown one.
    template <class... Words>
    value command(std::string_view name, const Words&... words) {
        const argument line[] = {name, words...};
        return run(line);
    }
    value command(std::span<const std::string> words);

    /// Sends several commands at once and waits once; this is not a transaction:
    /// `db.pipeline({{"SET", "a", 1}, {"INCR", "a"}})`.
    /// \returns  one value per command, in order; an error_reply where the server answered with an
    ///           error.
    std::vector<value> pipeline(std::initializer_list<std::initializer_list<argument>> commands);
    std::vector<value> pipeline(std::span<const std::vector<std::string>> commands);

private:
    value run(std::span<const argument> words);

    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::redis

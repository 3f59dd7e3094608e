// client.hpp - a Redis client shared by many fibers: their commands travel together.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/broadcast.hpp>
#include <weft/channel.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/redis/argument.hpp>
#include <weft/redis/error.hpp>
#include <weft/redis/message.hpp>
#include <weft/redis/session.hpp>
#include <weft/redis/value.hpp>

namespace weft::redis {

/// How a client connects, its limits, and commands that it should trust. Each limit but
/// max_exclusive takes weft::no_limit.
struct client_options {
    /// 0: one per worker. No more are used than there are workers.
    unsigned connections = 0;
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    /// A longer reply ends the connection, and one of so many values that they take more.
    std::size_t max_reply_bytes = std::size_t{512} << 20;
    /// The most commands waiting per connection; one more is refused. Also the most subscriptions
    /// that the server has not confirmed.
    std::size_t max_waiting = std::size_t{1} << 20;
    /// The most connections that exclusive() lends at once, at least 1. They are made when needed
    /// and kept.
    std::size_t max_exclusive = 16;
    /// If a reply is due and nothing has come from the server for this long, the connection is
    /// lost. no_limit or zero: never.
    std::chrono::nanoseconds silence_timeout = std::chrono::seconds(60);
    /// Commands of modules, and of servers newer than this client, for which the program guarantees
    /// that each answers exactly once and leaves the connection unchanged. Example:
    /// {"GRAPH.QUERY", "CLIENT|NEW-SUBCOMMAND"}
    std::vector<std::string> module_commands = {};
    /// 2, or 3 for replies with the types set, map, double, bool, big_number and verbatim, which need
    /// Redis 6 or later and a weft that was built with hiredis 1.1 or later.
    int protocol = 2;
    /// What connections to a rediss:// server begin with: `&context` of a tls::context, which must stay as
    /// long as the client. The server's certificate must have the host name of the URL.
    const io::stream_layer* tls = nullptr;
    /// Opens the connections, instead of tcp::stream::connect(): through a tunnel, or a
    /// net::simulated_network. It is given the host and port of the URL, or the path of a Unix
    /// socket as the host and port 0. It runs on a fiber of the client, within connect_timeout; it may
    /// park and throw. What it throws is the reason that commands fail with. The destructor of the
    /// client waits for it, after a request to stop.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
};

/// A client of one server:
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
    /// `url` is redis://[[user]:password@]host[:port][/database], or rediss:// with the same parts for a
    /// connection with TLS (client_options::tls); for a Unix socket
    /// unix:///path/of/socket or redis+unix://[[user]:password@]/path/of/socket, behind which ?db=N
    /// may choose a database. User, password and path are percent-encoded. The constructor does not
    /// wait for the server.
    /// \throws  std::invalid_argument naming the part of the URL, or the option; std::logic_error
    ///          outside a runtime.
    explicit client(std::string_view url, client_options = {});

    /// Fails the commands that still wait, those in exclusive() as well, closes the receivers of
    /// subscriptions and the connections, and waits for its fibers without being interrupted
    /// (shielded). It does not wait for functions that exclusive() runs; their next command fails.
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
    ///          WATCH, SUBSCRIBE, SELECT, BLPOP, ...), and for an unknown one; what() says what to
    ///          use instead.
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

    /// Runs the commands as a transaction (MULTI, EXEC), by one write: the server runs all of them
    /// or none, and no other command between them. A command that fails while it runs, such as an
    /// INCR of a text, does not undo the others.
    /// \returns  one value per command, in order; an error_reply where one has failed.
    /// \throws   redis::error of kind reply, with the server's reason, if it does not run them. If a
    ///           server refuses MULTI itself to this user, it may have run them one by one, and
    ///           what() says so. exclusive() is for a transaction that first reads (WATCH).
    std::vector<value> transaction(std::initializer_list<std::initializer_list<argument>> commands);
    std::vector<value> transaction(std::span<const std::vector<std::string>> commands);

    /// Runs f(session&) with a connection that nobody else uses meanwhile, for transactions and for
    /// commands that wait: weft::redis::session has an example. The session must not be used after
    /// f has ended.
    ///
    /// The connection is kept for the next call. It is closed instead if f has left a MULTI open, or
    /// if a command was interrupted or has lost it. Keys that f has watched are not watched for the
    /// next caller. A function that f calls and that itself calls exclusive() needs a second
    /// connection: with all of them lent to such functions, none goes on.
    ///
    /// \returns  what f returns.
    /// \parks    while client_options::max_exclusive connections are lent, and to connect.
    /// \throws   what f throws; redis::error of kind connection, also if there is no connection.
    template <std::invocable<session&> F>
    decltype(auto) exclusive(F&& f) {
        session mine = lend();
        return std::invoke(std::forward<F>(f), mine);
    }

    /// Receives what is published in a channel from now on:
    ///
    ///     const auto news = db.subscribe("news");
    ///     for (const weft::redis::message& m : news) std::cout << m.payload << '\n';
    ///
    /// One connection serves all subscriptions of the client, and a channel is subscribed once,
    /// however many receivers it has. Dropping or closing the receiver ends the subscription; the
    /// server learns of it with the next message, or within a second.
    ///
    /// Redis delivers at most once. If the connection is lost, the client connects again (with the
    /// pauses that commands have) and subscribes again; messages published meanwhile are lost, and
    /// the receiver is not told. What must not be lost belongs into a stream (XADD, XREADGROUP).
    ///
    /// A receiver that lags behind keeps `how.capacity` messages, and then loses the oldest. With
    /// overflow::drop_newest it loses the newest instead. With fail, and with back_off after 75 ms,
    /// it is closed, so that it ends behind the last message stored. With park the client reads
    /// nothing more until there is room: all its subscriptions stand still, and a server closes the
    /// connection once it has stored too much (client-output-buffer-limit).
    ///
    /// \returns  the receiver, once the server has confirmed the subscription. It ends with the
    ///           client, and if the server refuses the subscription to this user (NOPERM) after a reconnect.
    /// \parks    until then.
    /// \throws   redis::error of kind connection if there is no connection, of kind reply if the
    ///           server refuses, of kind refused for a name of more than 512 MiB and beyond
    ///           client_options::max_waiting; weft::cancelled if this fiber is asked to stop first;
    ///           std::invalid_argument for drop_oldest with capacity 0.
    [[nodiscard]] receiver<message> subscribe(std::string_view channel, subscription how = for_messages);
    /// Receives what is published in the channels whose names match, such as "news.*".
    [[nodiscard]] receiver<message> psubscribe(std::string_view pattern, subscription how = for_messages);

private:
    // chosen: a burst of messages while the receiver handles one
    static constexpr subscription for_messages{.capacity = 1024, .overflow = overflow::drop_oldest};

    session lend();
    value run(std::span<const argument> words);

    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::redis

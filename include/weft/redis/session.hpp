// session.hpp - a connection to a Redis server that one fiber uses: transactions, and commands that wait.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/redis/argument.hpp>
#include <weft/redis/value.hpp>

namespace weft::redis {

/// A connection of one's own, which client::exclusive() lends for a call. It takes what
/// client::command() takes, and also what waits (BLPOP, BLMOVE, XREAD BLOCK, WAIT) and what makes a
/// transaction (WATCH, MULTI, EXEC). What would change the connection for those who use it later is
/// refused.
///
///     db.exclusive([](weft::redis::session& s) {
///         s.command("WATCH", "stock");
///         const auto left = std::stoi(s.command("GET", "stock").text());
///         s.command("MULTI");
///         s.command("SET", "stock", left - 1);  // the reply is QUEUED
///         return !s.command("EXEC").is_nil();   // nil: another client has changed the stock
///     });
///
/// One fiber or thread uses it at a time. A command that was interrupted (a stop, a deadline) or
/// that has lost the connection ends the session: later commands in it throw redis::error of kind
/// connection.
///
/// A command that may wait has no limit of time but its own, which the server keeps, and the
/// caller's deadline: client_options::silence_timeout limits the others. So if the server stands
/// still, only a deadline ends a BLPOP, even one with a timeout.
class WEFT_EXPORT session {
public:
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Runs a command and waits for its reply: `s.command("BLPOP", "jobs", 5)`.
    /// \parks   until the reply is there.
    /// \throws  redis::error as client::command(); weft::cancelled if this fiber is asked to stop
    ///          first; std::logic_error if another fiber uses the session at the same time.
    template <class... Words>
    value command(std::string_view name, const Words&... words) {
        const argument line[] = {name, words...};
        return run(line);
    }
    value command(std::span<const std::string> words);

    /// Sends several commands at once and waits for all replies.
    /// \returns  one value per command, in order; an error_reply where the server answered with an
    ///           error.
    /// \parks \throws  as command()
    std::vector<value> pipeline(std::initializer_list<std::initializer_list<argument>> commands);
    std::vector<value> pipeline(std::span<const std::vector<std::string>> commands);

private:
    friend class client;
    struct impl;

    explicit session(std::unique_ptr<impl>) noexcept;
    value run(std::span<const argument> words);

    std::unique_ptr<impl> impl_;
};

}  // namespace weft::redis

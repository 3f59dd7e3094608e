// refusal.hpp - which commands must not be sent on a connection, and why.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/redis/argument.hpp>

namespace weft::detail::redis {

/// Whether many fibers use a connection at once, or one at a time.
enum class used_by : bool { many, one };

/// The commands that a client may send: those of the table (command_table.hpp) with a single reply,
/// and those for which the program vouches. On a connection that one fiber uses, also those that
/// block and those of transactions.
class command_rules {
public:
    command_rules() = default;
    /// \throws  std::invalid_argument for a name that cannot be a command, or of a command that is
    ///          refused in any case.
    explicit command_rules(std::span<const std::string> vouched_for);

    /// \returns  why the command must not be sent; empty if it may.
    std::string_view refusal(std::span<const weft::redis::argument> words, used_by who = used_by::many) const noexcept;
    /// \throws  redis::error of kind refused that says why, and what to use instead.
    void check(std::span<const weft::redis::argument> words, used_by who) const;

private:
    std::string_view reason_for(std::string_view name, used_by who) const noexcept;

    std::vector<std::string> more_;  // in capitals, sorted
};

/// Whether the reply may come only after some event.
bool may_block(std::span<const weft::redis::argument> words) noexcept;

/// Whether a word is the command, which is given in capitals.
bool is_command(std::string_view word, std::string_view in_capitals) noexcept;

}  // namespace weft::detail::redis

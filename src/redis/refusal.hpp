// refusal.hpp - which commands must not be sent on a shared connection, and why.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/redis/argument.hpp>

namespace weft::detail::redis {

/// The commands that a client may send: those of the table (command_table.hpp) with a single reply,
/// and those for which the program vouches.
class command_rules {
public:
    command_rules() = default;
    /// \throws  std::invalid_argument for a name that cannot be a command, or of a command that is
    ///          refused in any case.
    explicit command_rules(std::span<const std::string> vouched_for);

    /// \returns  why the command must not be sent; empty if it may.
    std::string_view refusal(std::span<const weft::redis::argument> words) const noexcept;

private:
    std::string_view reason_for(std::string_view name) const noexcept;

    std::vector<std::string> more_;  // in capitals, sorted
};

}  // namespace weft::detail::redis

// refusal.hpp - which commands do not belong on a connection that many fibers share, and why.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/redis/argument.hpp>

namespace weft::detail::redis {

/// What a client may send: the commands of the table (command_table.hpp) that have a single reply, and those that the program vouches
/// for.
class command_rules {
public:
    command_rules() = default;
    /// \throws  std::invalid_argument if a name is none, or that of a command that is refused whatever the program says.
    explicit command_rules(std::span<const std::string> vouched_for);

    /// \returns  why the command must not be sent; empty if it may.
    std::string_view refusal(std::span<const weft::redis::argument> words) const noexcept;

private:
    std::string_view reason_for(std::string_view name) const noexcept;

    std::vector<std::string> more_;  // in capitals, sorted
};

}  // namespace weft::detail::redis

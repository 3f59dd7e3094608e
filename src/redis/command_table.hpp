// command_table.hpp - which commands may be sent over a connection that many fibers share.
//
// Invariants
//   COMMAND_TABLE-1  Every command and subcommand that a server of Redis 7.0 lists is here (the
//                    test asks the server). Those that Redis 7.2 to 8.4, Valkey 8 and 9, Sentinel
//                    and the modules that come with Redis 8 add are here according to their
//                    documentation.
//   COMMAND_TABLE-2  A command called `single` has exactly one reply, whatever its words are, and
//                    leaves the connection unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::detail::redis {

enum class command_kind : std::uint8_t {
    single,  // one reply, and the connection is unchanged
    // The reply comes only after some event; all commands behind it wait.
    blocks,
    transaction,  // belongs to a transaction
    // Changes how later commands are read, answered or treated.
    changes,
    streams,  // no reply, or any number of replies
    ends,  // ends the connection
    // For developers of the server: stops it, starts its debugger, or has any form.
    internal,
};

/// `name` is in capitals, a subcommand as in "CLIENT|LIST". Empty: the command is not known.
std::optional<command_kind> kind_of(std::string_view name) noexcept;

/// Whether the second word of a command chooses a subcommand, which then has its own entry; called
/// with "CLIENT|".
bool has_subcommands(std::string_view name_and_bar) noexcept;

}  // namespace weft::detail::redis

// command_table.hpp - what is known of each command of a server: whether it may be sent over a connection that many fibers share.
//
// Invariants
//   T1  Every command and subcommand that a server of Redis 7.0 lists is here (the test asks the server), and those that Redis 7.2
//       to 8.4, Valkey 8 and 9, Sentinel and the modules that come with Redis 8 have beyond it, by their documentation.
//   T2  A command called `single` has exactly one reply, whatever its words are, and leaves the connection as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::detail::redis {

enum class command_kind : std::uint8_t {
    single,  // one reply, and the connection is as it was
    blocks,  // the reply comes when something has happened; all behind it wait
    transaction,  // belongs to a transaction
    changes,  // what comes later is read, answered or treated in another way
    streams,  // no reply, or any number of them
    ends,  // the connection ends with it
    internal,  // of the server's developers: stops the server, starts its debugger, has any form
};

/// `name` in capitals; a subcommand as in "CLIENT|LIST". Empty: not known.
std::optional<command_kind> kind_of(std::string_view name) noexcept;

/// Whether the second word of a command chooses a subcommand, which then counts by itself; asked as "CLIENT|".
bool has_subcommands(std::string_view name_and_bar) noexcept;

}  // namespace weft::detail::redis

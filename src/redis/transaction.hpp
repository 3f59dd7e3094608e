// transaction.hpp - the commands of client::transaction() as bytes, and its replies as results.
//
// MULTI, the commands and EXEC are one slot of the queue, so they are sent whole or not at all, and
// a server that loses the connection before EXEC runs none of them. A server that refuses EXEC by
// EXECABORT discards the transaction. After another error, of an older server or a proxy, the shared
// connection may still be in it, and ends (slot::leaves_transaction()).
#pragma once

#include <span>
#include <string>
#include <vector>

#include <weft/redis/argument.hpp>
#include <weft/redis/value.hpp>

namespace weft::detail::redis {

class transaction {
public:
    transaction();

    void add(std::span<const weft::redis::argument> words);

    /// Ends the commands. \returns them.
    std::string bytes();
    /// How many replies they have.
    std::size_t replies() const noexcept { return commands_ + 2; }

    /// \returns  one value per command.
    /// \throws   redis::error of kind reply, if the server did not run them as a transaction.
    std::vector<weft::redis::value> results(std::vector<weft::redis::value> replies) const;

private:
    std::string bytes_;
    std::size_t commands_ = 0;
};

}  // namespace weft::detail::redis

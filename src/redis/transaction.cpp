// transaction.cpp - MULTI before the commands, EXEC behind them, and what their replies mean.
#include "redis/transaction.hpp"

#include <algorithm>
#include <array>

#include "redis/codec.hpp"
#include "redis/failed_reply.hpp"

namespace weft::detail::redis {

using weft::redis::array;
using weft::redis::error_reply;
using weft::redis::value;

transaction::transaction() { append_command(bytes_, std::array<weft::redis::argument, 1>{"MULTI"}); }

void transaction::add(std::span<const weft::redis::argument> words) {
    append_command(bytes_, words);
    ++commands_;
}

std::string transaction::bytes() {
    append_command(bytes_, std::array<weft::redis::argument, 1>{"EXEC"});
    return std::move(bytes_);
}

std::vector<value> transaction::results(std::vector<value> replies) const {
    if (const auto* refused = std::get_if<error_reply>(&replies.front().content()))
        // Without a transaction EXEC fails in any case.
        throw_failed(refused->text +
                     (std::all_of(replies.begin() + 1, replies.end() - 1, [](const value& r) { return r.is_error(); })
                          ? " (MULTI was refused, and so were all commands)"
                          : " (MULTI was refused, so the commands ran one by one)"));
    if (auto* all = std::get_if<array>(&replies.back().content()); all && all->size() == commands_) return std::move(*all);
    // The first command that was not queued says more than EXEC does.
    const auto failed = std::ranges::find_if(replies, &value::is_error);
    if (failed != replies.end()) throw_failed(std::get<error_reply>(failed->content()).text + " (nothing was run)");
    throw_failed("EXEC has run nothing");
}

}  // namespace weft::detail::redis

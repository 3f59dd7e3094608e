// refusal.cpp - finds the row of a command in the table, and checks the options of XREAD.
#include "redis/refusal.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include <weft/redis/error.hpp>

#include "base/in_quotes.hpp"
#include "redis/command_table.hpp"

namespace weft::detail::redis {

namespace {

constexpr std::string_view not_known =
    "it is not known here that it answers exactly once; if it does, name it in client_options::module_commands";
constexpr std::string_view unknown_option = "it has an option that is not known here; it might block everybody";

std::string_view reason(command_kind kind, used_by who) noexcept {
    const bool own = who == used_by::one;
    switch (kind) {
        case command_kind::single: return {};
        case command_kind::blocks:
            return own ? "" : "it would block everybody on this shared connection; use client::exclusive()";
        case command_kind::transaction:
            return own ? "" : "a transaction needs a connection of its own; use client::transaction() or client::exclusive()";
        case command_kind::changes:
            return own ? "it would change this connection for those who use it later"
                       : "it would change this shared connection for everybody";
        case command_kind::streams:
            return own ? "it has no single reply" : "it has no single reply; it needs a connection of its own";
        case command_kind::ends:
            return own ? "it would end this connection; it ends with the client"
                       : "it would end this shared connection for everybody";
        case command_kind::internal: return "it is for those who develop the server";
    }
    return not_known;
}

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same(std::string_view a, std::string_view b) noexcept { return std::ranges::equal(a, b, {}, upper, upper); }

/// A command, or a command and its subcommand, as the table spells it. Empty if it is longer than
/// any entry.
class spelled {
public:
    spelled& add(std::string_view word) noexcept {
        fits_ = fits_ && size_ + word.size() <= room_.size();
        if (!fits_) return *this;
        std::ranges::transform(word, room_.data() + size_, upper);
        size_ += word.size();
        return *this;
    }
    std::string_view view() const noexcept { return fits_ ? std::string_view(room_.data(), size_) : std::string_view(); }

private:
    // chosen: the longest entry of the table has 34
    std::array<char, 64> room_{};
    std::size_t size_ = 0;
    bool fits_ = true;
};

/// What the program may use instead of a command that is refused everywhere.
struct instead {
    std::string_view command, use;
};
constexpr std::array insteads = {
    instead{"SUBSCRIBE", "use client::subscribe()"},
    instead{"PSUBSCRIBE", "use client::psubscribe()"},
    instead{"UNSUBSCRIBE", "drop the receiver that client::subscribe() has returned"},
    instead{"PUNSUBSCRIBE", "drop the receiver that client::psubscribe() has returned"},
    instead{"SELECT", "name the database in the URL of a client"},
    instead{"HELLO", "set client_options::protocol"},
    instead{"AUTH", "name user and password in the URL of a client"},
};

/// The kind of a read of streams. Parses the options as the server does, since a group, a consumer
/// or a stream may have the name of an option. Empty: it has an option that is not known here.
std::optional<command_kind> kind_of_read(std::span<const weft::redis::argument> words) noexcept {
    for (std::size_t i = 1; i < words.size();) {
        const auto option = words[i].view();
        if (same(option, "STREAMS")) return command_kind::single;
        if (same(option, "BLOCK")) return command_kind::blocks;
        if (same(option, "NOACK"))
            i += 1;
        else if (same(option, "COUNT") || same(option, "CLAIM"))
            i += 2;
        else if (same(option, "GROUP"))
            i += 3;
        else
            return std::nullopt;
    }
    return command_kind::single;  // the server will report what is missing
}

bool is_read(std::string_view name) noexcept { return same(name, "XREAD") || same(name, "XREADGROUP"); }

}  // namespace

command_rules::command_rules(std::span<const std::string> vouched_for) {
    for (const auto& name : vouched_for) {
        const spelled s = spelled().add(name);
        if (s.view().empty())
            throw std::invalid_argument("redis: " + in_quotes(name) + " in module_commands is no name of a command");
        if (const auto kind = kind_of(s.view()); kind && *kind != command_kind::single)
            throw std::invalid_argument("redis: " + in_quotes(name) +
                                        " in module_commands cannot be allowed: " + std::string(reason(*kind, used_by::many)));
        more_.emplace_back(s.view());
    }
    std::ranges::sort(more_);
}

std::string_view command_rules::reason_for(std::string_view name, used_by who) const noexcept {
    if (const auto kind = kind_of(name)) return reason(*kind, who);
    return std::ranges::binary_search(more_, name) ? std::string_view() : not_known;
}

std::string_view command_rules::refusal(std::span<const weft::redis::argument> words, used_by who) const noexcept {
    if (words.empty() || words[0].view().empty()) return "a command needs a name";
    spelled name;
    name.add(words[0].view());
    if (words[0].view().find('|') != std::string_view::npos) return "a subcommand is a word of its own";
    if (const auto refused = reason_for(name.view(), who); !refused.empty()) return refused;
    if (is_read(name.view())) {
        if (who == used_by::one) return {};
        const auto kind = kind_of_read(words);
        return kind ? reason(*kind, who) : unknown_option;
    }
    if (words.size() > 1)
        if (spelled sub = name; has_subcommands(sub.add("|").view())) return reason_for(sub.add(words[1].view()).view(), who);
    return {};
}

void command_rules::check(std::span<const weft::redis::argument> words, used_by who) const {
    const auto why = refusal(words, who);
    if (why.empty()) return;
    const auto name = words.empty() ? std::string_view() : words[0].view();
    auto message = (name.empty() ? std::string("redis: ") : "redis: " + in_quotes(name) + " refused: ") + std::string(why);
    for (const auto& [command, use] : insteads)
        if (same(name, command)) message += "; " + std::string(use);
    throw weft::redis::error(weft::redis::error_kind::refused, message);
}

bool may_block(std::span<const weft::redis::argument> words) noexcept {
    if (words.empty()) return false;
    if (is_read(words[0].view())) return kind_of_read(words) != command_kind::single;
    return kind_of(spelled().add(words[0].view()).view()) == command_kind::blocks;
}

bool is_command(std::string_view word, std::string_view in_capitals) noexcept { return same(word, in_capitals); }

}  // namespace weft::detail::redis

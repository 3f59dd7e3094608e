// refusal.cpp - finds the row of a command in the table, and checks the options of XREAD.
#include "redis/refusal.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "redis/command_table.hpp"

namespace weft::detail::redis {

namespace {

constexpr std::string_view not_known =
    "it is not known here that it answers exactly once; if it does, name it in client_options::module_commands";
constexpr std::string_view unknown_option = "it has an option that is not known here; it might block everybody";

std::string_view reason(command_kind kind) noexcept {
    switch (kind) {
        case command_kind::single: return {};
        case command_kind::blocks: return "it would block everybody on this shared connection";
        case command_kind::transaction: return "a transaction needs a connection of its own";
        case command_kind::changes: return "it would change this shared connection for everybody";
        case command_kind::streams: return "it has no single reply; it needs a connection of its own";
        case command_kind::ends: return "it would end this shared connection for everybody";
        case command_kind::internal: return "it is for those who develop the server";
    }
    return not_known;
}

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same(std::string_view a, std::string_view b) noexcept {
    return std::ranges::equal(a, b, {}, upper, upper);
}

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

/// Parses the options as the server does, since a group, a consumer or a stream may have the name
/// of an option.
std::string_view reason_of_read(std::span<const weft::redis::argument> words) noexcept {
    for (std::size_t i = 1; i < words.size();) {
        const auto option = words[i].view();
        if (same(option, "STREAMS")) return {};
        if (same(option, "BLOCK")) return reason(command_kind::blocks);
        if (same(option, "NOACK"))
            i += 1;
        else if (same(option, "COUNT") || same(option, "CLAIM"))
            i += 2;
        else if (same(option, "GROUP"))
            i += 3;
        else
            return unknown_option;
    }
    return {};  // the server will report what is missing
}

}  // namespace

command_rules::command_rules(std::span<const std::string> vouched_for) {
    for (const auto& name : vouched_for) {
        const spelled s = spelled().add(name);
        if (s.view().empty())
            throw std::invalid_argument("redis: " + in_quotes(name) + " in module_commands is no name of a command");
        if (const auto kind = kind_of(s.view()); kind && !reason(*kind).empty())
            throw std::invalid_argument("redis: " + in_quotes(name) +
                                        " in module_commands cannot be allowed: " + std::string(reason(*kind)));
        more_.emplace_back(s.view());
    }
    std::ranges::sort(more_);
}

std::string_view command_rules::reason_for(std::string_view name) const noexcept {
    if (const auto kind = kind_of(name)) return reason(*kind);
    return std::ranges::binary_search(more_, name) ? std::string_view() : not_known;
}

std::string_view command_rules::refusal(std::span<const weft::redis::argument> words) const noexcept {
    if (words.empty() || words[0].view().empty()) return "a command needs a name";
    spelled name;
    name.add(words[0].view());
    if (words[0].view().find('|') != std::string_view::npos) return "a subcommand is a word of its own";
    if (const auto refused = reason_for(name.view()); !refused.empty()) return refused;
    if (name.view() == "XREAD" || name.view() == "XREADGROUP") return reason_of_read(words);
    if (words.size() > 1)
        if (spelled sub = name; has_subcommands(sub.add("|").view())) return reason_for(sub.add(words[1].view()).view());
    return {};
}

}  // namespace weft::detail::redis

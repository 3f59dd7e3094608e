// refusal.cpp - the table of refused commands.
#include "redis/refusal.hpp"

#include <algorithm>
#include <array>

namespace weft::detail::redis {

namespace {

constexpr std::string_view blocks = "it would block everybody on this shared connection";
constexpr std::string_view transaction = "a transaction needs a connection of its own";
constexpr std::string_view changes = "it would change this shared connection for everybody";
constexpr std::string_view streams = "it has no single reply; it needs a connection of its own";

struct rule {
    std::string_view name;
    std::string_view reason;
};

constexpr std::array rules = {
    rule{"AUTH", changes},        rule{"BLMOVE", blocks},      rule{"BLMPOP", blocks},        rule{"BLPOP", blocks},
    rule{"BRPOP", blocks},        rule{"BRPOPLPUSH", blocks},  rule{"BZMPOP", blocks},        rule{"BZPOPMAX", blocks},
    rule{"BZPOPMIN", blocks},     rule{"DISCARD", transaction}, rule{"EXEC", transaction},    rule{"HELLO", changes},
    rule{"MONITOR", streams},     rule{"MULTI", transaction},  rule{"PSUBSCRIBE", streams},   rule{"PSYNC", streams},
    rule{"PUNSUBSCRIBE", streams}, rule{"QUIT", changes},      rule{"RESET", changes},        rule{"SELECT", changes},
    rule{"SSUBSCRIBE", streams},  rule{"SUBSCRIBE", streams},  rule{"SUNSUBSCRIBE", streams}, rule{"SYNC", streams},
    rule{"UNSUBSCRIBE", streams}, rule{"UNWATCH", transaction}, rule{"WAIT", blocks},         rule{"WAITAOF", blocks},
    rule{"WATCH", transaction},
};

char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same(std::string_view a, std::string_view b) noexcept {
    return std::ranges::equal(a, b, {}, upper, upper);
}

bool has_word(std::span<const weft::redis::argument> words, std::string_view wanted) noexcept {
    return std::ranges::any_of(words, [wanted](const auto& word) { return same(word.view(), wanted); });
}

}  // namespace

std::string_view refusal(std::span<const weft::redis::argument> words) noexcept {
    if (words.empty() || words[0].view().empty()) return "a command needs a name";
    const auto name = words[0].view();
    for (const auto& [refused, reason] : rules)
        if (same(name, refused)) return reason;
    // BLOCK stands before STREAMS; behind it the same word would be a key.
    if (same(name, "XREAD") || same(name, "XREADGROUP")) {
        const auto streams_at = std::ranges::find_if(words, [](const auto& w) { return same(w.view(), "STREAMS"); });
        if (has_word({words.begin(), streams_at}, "BLOCK")) return blocks;
    }
    if (same(name, "CLIENT") && words.size() > 1 && same(words[1].view(), "REPLY")) return changes;
    return {};
}

}  // namespace weft::detail::redis

#include "program/history.hpp"

#include <algorithm>
#include <array>

namespace weft::fuzz {

std::string_view name(deed d) noexcept {
    constexpr std::string_view names[] = {"send",       "receive",    "close",      "select",  "lock",  "unlock",
                                          "put",        "take",       "acquire",    "release", "set",   "reset",
                                          "wait",       "spawn",      "join",       "drop",    "stop",  "scope",
                                          "stop_scope", "group_wait", "group_done", "yield",   "sleep", "alarm"};
    return names[static_cast<std::size_t>(d)];
}

std::string_view name(ending e) noexcept {
    constexpr std::string_view names[] = {"pending", "done", "closed", "not now", "timeout", "alarm", "cancelled", "failed"};
    return names[static_cast<std::size_t>(e)];
}

namespace {

std::string value_in_words(std::uint64_t v) {
    return v >> 32 ? std::to_string(v >> 32) + '.' + std::to_string(v & 0xffff'ffff) : std::to_string(v);
}

std::string in_words(const case_log& c) {
    constexpr std::string_view kinds[] = {"receive", "send", "timeout", "otherwise", "join", "alarm"};
    std::string text(kinds[static_cast<std::size_t>(c.what)]);
    if (c.what == arm::kind::receive || c.what == arm::kind::send) text += ' ' + std::to_string(c.object);
    if (c.value != 0) text += ' ' + value_in_words(c.value);
    if (c.chosen) text += c.closed ? " = closed" : c.received != 0 ? " = " + value_in_words(c.received) : " = done";
    return text;
}

}  // namespace

std::string in_words(const operation& op, unsigned fiber) {
    constexpr std::string_view forms[] = {"", " (at once)", " (limited)", " (or alarm)"};
    std::string text = std::to_string(op.begun) + '-' + std::to_string(op.over) + " fiber " + std::to_string(fiber) + ": " +
                       std::string(name(op.what)) + std::string(forms[static_cast<std::size_t>(op.how)]) + " #" +
                       std::to_string(op.object);
    if (op.value != 0) text += " value " + value_in_words(op.value);
    for (const auto& c : op.cases) text += " | " + in_words(c);
    return text + " -> " + std::string(name(op.ended));
}

std::string written(const history& h) {
    struct line {
        stamp begun;
        std::string text;
    };
    std::vector<line> lines;
    for (const auto& b : h.books()) {
        for (const auto& op : b.operations) lines.push_back({op.begun, in_words(op, b.number)});
        lines.push_back({b.ended, std::to_string(b.ended) + " fiber " + std::to_string(b.number) +
                                      (b.failed != 0 ? " has failed" : " has ended")});
    }
    std::ranges::sort(lines, {}, &line::begun);
    std::string text;
    for (const auto& l : lines) text.append("  ").append(l.text).append("\n");
    return text;
}

}  // namespace weft::fuzz

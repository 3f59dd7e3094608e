#include "program/program.hpp"

#include <array>

#include <weft/channel.hpp>

namespace weft::fuzz {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(verb::last) + 1> names = {
    "send",        "try_send",    "send_for",      "receive",  "try_receive", "receive_for",
    "close",       "select",      "select_all",    "lock",     "try_lock",    "lock_for",
    "put",         "put_quietly", "take",          "take_for", "acquire",     "acquire_or_alarm",
    "try_acquire", "acquire_for", "release",       "set",      "reset",       "wait",
    "try_wait",    "wait_for",    "wait_or_alarm", "spawn",    "join",        "join_for",
    "drop",        "detach",      "stop",          "scope",    "stop_scope",  "group",
    "group_for",   "yield",       "sleep",         "timeout",  "shield",      "repeat",
    "fail",        "alarm",
};

/// What may stand where: all of it depends on what encloses a statement in its own fiber.
struct place {
    unsigned depth = 0;
    unsigned first_free_mutex = 0;  // those below are held, or may not be taken any more
    bool in_scope = false;

    bool holds_a_lock() const noexcept { return first_free_mutex != 0; }
};

class reader {
public:
    explicit reader(bytes b) : from_(b) {}

    program_text program() {
        program_text p;
        p.seed = from_.word();
        p.switch_one_in = from_.below(4);  // 0: drawn
        for (auto& c : p.channels) {
            constexpr std::size_t capacities[] = {0, 1, 2, 0, 5, unbounded, 1, 300};  // 300 values do not lie in one block
            const auto b = from_.byte();
            c = {.capacity = capacities[b % 8], .owns = (b & 8) != 0};
        }
        p.permits = from_.below(3);
        const auto count = 2 + from_.below(4);
        for (unsigned i = 0; i < count; ++i) p.fibers.push_back(body({.depth = 0}));
        return p;
    }

private:
    static constexpr unsigned deepest = 5, most_statements = 90, most_fibers = 14;

    block body(place at) {
        block b;
        const auto n = 1 + from_.below(at.depth == 0 ? 8 : 4);
        for (unsigned i = 0; i < n && !from_.empty() && statements_ < most_statements; ++i) {
            ++statements_;
            b.push_back(one(at));
        }
        return b;
    }

    /// Where a verb must not stand, another does.
    static verb fitting(verb v, const place& at, unsigned fibers) {
        const bool spawns = v == verb::spawn || v == verb::scope || v == verb::group || v == verb::group_for;
        if (spawns && (fibers >= most_fibers || at.depth >= deepest)) return verb::yield;
        switch (v) {
            case verb::lock:
            case verb::try_lock:
            case verb::lock_for: return at.first_free_mutex >= mutex_count || at.depth >= deepest ? verb::release : v;
            case verb::timeout:
            case verb::shield:
            case verb::repeat: return at.depth >= deepest ? verb::sleep : v;
            case verb::join:
            case verb::join_for:
            case verb::drop: return at.holds_a_lock() ? verb::try_receive : v;
            case verb::scope:
            case verb::group:
            case verb::group_for: return at.holds_a_lock() ? verb::set : v;
            case verb::stop_scope: return at.in_scope ? v : verb::receive;
            default: return v;
        }
    }

    statement one(place at) {
        statement s;
        s.what = fitting(static_cast<verb>(from_.below(static_cast<unsigned>(verb::last) + 1)), at, fibers_);
        const auto b = from_.byte();
        s.object = b % 16;
        s.us = duration_of(b);
        s.flag = (b & 0x80) != 0;
        ++at.depth;
        switch (s.what) {
            case verb::select:
            case verb::select_all: s.arms = arms(); break;
            case verb::lock:
            case verb::try_lock:
            case verb::lock_for:
                s.object = static_cast<std::uint8_t>(at.first_free_mutex + b % (mutex_count - at.first_free_mutex));
                at.first_free_mutex = s.object + 1u;
                s.bodies.push_back(body(at));
                break;
            case verb::timeout:
            case verb::shield:
            case verb::repeat: s.bodies.push_back(body(at)); break;
            case verb::spawn: s.bodies.push_back(child(at.depth, false)); break;
            case verb::scope:
                at.in_scope = true;
                s.bodies.push_back(body(at));
                [[fallthrough]];
            case verb::group:
            case verb::group_for:
                for (unsigned i = 1 + b % 3; i > 0; --i) s.bodies.push_back(child(at.depth, s.what == verb::scope));
                break;
            default: break;
        }
        return s;
    }

    /// Another fiber holds no locks. It may stop the scope that it is a child of, and no other, which could end before it.
    block child(unsigned depth, bool in_scope) {
        ++fibers_;
        return body({.depth = depth, .in_scope = in_scope});
    }

    std::vector<arm> arms() {
        std::vector<arm> all;
        for (unsigned i = 1 + from_.below(4); i > 0; --i) {
            const auto b = from_.byte();
            constexpr arm::kind kinds[] = {arm::kind::receive, arm::kind::send, arm::kind::timeout,   arm::kind::receive,
                                           arm::kind::send,    arm::kind::join, arm::kind::otherwise, arm::kind::alarm};
            all.push_back({.what = kinds[b % 8], .object = static_cast<std::uint8_t>(b / 8 % 4), .us = duration_of(b)});
        }
        return all;
    }

    static std::uint16_t duration_of(std::uint8_t b) {
        constexpr std::uint16_t us[] = {0, 1, 2, 5, 10, 20, 50, 100};
        return us[b / 16 % 8];
    }

    choices from_;
    unsigned statements_ = 0, fibers_ = 0;
};

// ---- in words

void write(std::string& to, const block& b, std::size_t indent);

std::string described(const arm& a) {
    constexpr std::string_view kinds[] = {"receive ", "send ", "timeout ", "otherwise", "join ", "alarm"};
    std::string text(kinds[static_cast<std::size_t>(a.what)]);
    if (a.what == arm::kind::timeout) return text + std::to_string(a.us) + "us";
    const bool is_channel = a.what == arm::kind::receive || a.what == arm::kind::send;
    if (is_channel || a.what == arm::kind::join) text += std::to_string(is_channel ? a.object % channel_count : a.object);
    return text;
}

void write(std::string& to, const statement& s, std::size_t indent) {
    to.append(indent, ' ')
        .append(name(s.what))
        .append(" ")
        .append(std::to_string(s.object))
        .append(" ")
        .append(std::to_string(s.us))
        .append("us");
    if (s.flag) to += " *";
    for (const auto& a : s.arms) to += " | " + described(a);
    to += '\n';
    for (const auto& b : s.bodies) {
        to.append(indent, ' ').append("{\n");
        write(to, b, indent + 2);
        to.append(indent, ' ').append("}\n");
    }
}

void write(std::string& to, const block& b, std::size_t indent) {
    for (const auto& s : b) write(to, s, indent);
}

}  // namespace

std::string_view name(verb v) noexcept { return names[static_cast<std::size_t>(v)]; }

program_text program_of(bytes b) { return reader(b).program(); }

std::vector<std::uint8_t> bytes_of(std::uint64_t seed) {
    std::uint64_t state = seed;
    const auto next = [&state] {  // splitmix64
        auto z = state += 0x9e37'79b9'7f4a'7c15;
        z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
        z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
        return z ^ (z >> 31);
    };
    std::vector<std::uint8_t> made(40 + next() % 260);
    for (auto& b : made) b = static_cast<std::uint8_t>(next());
    return made;
}

std::string written(const program_text& p) {
    std::string text = "seed " + std::to_string(p.seed) + ", a switch one in " + std::to_string(p.switch_one_in) + ", permits " +
                       std::to_string(p.permits);
    for (const auto& c : p.channels)
        text += std::string(", ") + (c.owns ? "owning" : "plain") + " channel of " +
                (c.capacity == unbounded ? "any" : std::to_string(c.capacity));
    for (std::size_t i = 0; i < p.fibers.size(); ++i) {
        text += "\nfiber " + std::to_string(i + 1) + ":\n";
        write(text, p.fibers[i], 2);
    }
    return text;
}

}  // namespace weft::fuzz

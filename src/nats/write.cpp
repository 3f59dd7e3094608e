// write.cpp - spells what a client sends, and checks that nothing in it can be taken for more.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include <weft/nats/error.hpp>

#include "nats/codec.hpp"

namespace weft::detail::nats {

using weft::nats::error;
using weft::nats::nats_errc;

namespace {

// required: a subject, a reply subject and three numbers fit into a control line of parser::max_line
constexpr std::size_t longest_subject = 1900;

class digits {
public:
    explicit digits(std::uint64_t n) : end_(std::to_chars(text_, std::end(text_), n).ptr) {}
    std::string_view text() const noexcept { return {text_, end_}; }

private:
    char text_[20];
    const char* const end_;
};

void append_number(std::string& to, std::uint64_t n) { to += digits(n).text(); }

template <class Put>
void spell_publish(Put put, std::string_view subject, std::string_view reply, std::string_view header_block,
                   std::string_view payload) {
    header_block.empty() ? put("PUB ") : put("HPUB ");
    put(subject);
    put(" ");
    if (!reply.empty()) {
        put(reply);
        put(" ");
    }
    if (!header_block.empty()) {
        put(digits(header_block.size()).text());
        put(" ");
    }
    put(digits(header_block.size() + payload.size()).text());
    put("\r\n");
    put(header_block);
    put(payload);
    put("\r\n");
}

[[noreturn]] void refuse_subject(std::string_view subject, const char* why) {
    std::string shown;
    for (const char c : subject.substr(0, 60)) shown += c >= ' ' && c <= '~' ? c : '?';
    throw error(nats_errc::bad_subject, "nats: the subject '" + shown + "' " + why);
}

/// What a byte can be in a subject.
enum class byte_kind : std::uint8_t { plain, dot, wildcard, refused };

constexpr auto kinds = [] {
    std::array<byte_kind, 256> all{};
    for (std::size_t c = 0; c <= ' '; ++c) all[c] = byte_kind::refused;
    all[0x7f] = byte_kind::refused;
    all['.'] = byte_kind::dot;
    all['*'] = all['>'] = byte_kind::wildcard;
    return all;
}();

/// Whether it has one dot between tokens, and nothing in them that means something.
bool is_plain(std::string_view subject) noexcept {
    bool begins = true;  // a token
    for (const char c : subject) {
        const auto kind = kinds[static_cast<unsigned char>(c)];
        if (kind == byte_kind::plain) {
            begins = false;
            continue;
        }
        if (kind != byte_kind::dot || begins) return false;
        begins = true;
    }
    return !begins && subject.size() <= longest_subject;
}

/// \returns  whether there is a wildcard.
bool check_tokens(std::string_view subject) {
    if (subject.size() > longest_subject) refuse_subject(subject, "is too long");
    bool wild = false;
    char before = '.';
    for (std::size_t i = 0; i < subject.size(); ++i) {
        const char c = subject[i];
        const bool last = i + 1 == subject.size();
        if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) refuse_subject(subject, "has a blank or a control byte");
        if (c == '.' && before == '.') refuse_subject(subject, "has an empty token");
        if (c == '*' && before == '.' && (last || subject[i + 1] == '.')) wild = true;
        if (c == '>' && before == '.') {
            if (!last && subject[i + 1] == '.') refuse_subject(subject, "has a token behind '>'");
            wild |= last;
        }
        before = c;
    }
    if (before == '.') refuse_subject(subject, "has an empty token");
    return wild;
}

}  // namespace

void check_subject(std::string_view subject) {
    if (!is_plain(subject) && check_tokens(subject)) refuse_subject(subject, "has a wildcard");
}

void check_pattern(std::string_view pattern) { check_tokens(pattern); }

void check_headers(const weft::nats::headers& all) {
    for (const auto& [name, value] : all) {
        const bool named = !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != ':'; });
        if (!named) throw error(nats_errc::bad_header, "nats: a header name must be printable ASCII without blank and colon");
        if (value.find_first_of("\r\n") != std::string::npos)
            throw error(nats_errc::bad_header, "nats: the header " + name + " has a CR or LF");
    }
}

std::string write_headers(const weft::nats::headers& all) {
    if (all.empty()) return {};
    std::string block = "NATS/1.0\r\n";
    for (const auto& [name, value] : all) block.append(name).append(": ").append(value).append("\r\n");
    return block += "\r\n";
}

void append_publish(std::string& to, std::string_view subject, std::string_view reply, std::string_view header_block,
                    std::string_view payload) {
    constexpr std::size_t short_bytes = 512;  // chosen: little of a fiber's stack
    constexpr std::size_t around = 64;        // the verb, numbers, blanks and line ends
    const auto append = [&](std::string_view s) { to += s; };
    if (subject.size() + reply.size() + header_block.size() + payload.size() > short_bytes - around)
        return spell_publish(append, subject, reply, header_block, payload);
    // All at once, since an append costs more than the copy.
    char whole[short_bytes];
    char* end = whole;
    const auto copy = [&](std::string_view s) { end = std::copy(s.begin(), s.end(), end); };
    spell_publish(copy, subject, reply, header_block, payload);
    to.append(whole, end);
}

void append_subscribe(std::string& to, std::string_view subject, std::string_view queue, std::uint64_t sid) {
    ((to += "SUB ") += subject) += ' ';
    if (!queue.empty()) (to += queue) += ' ';
    append_number(to, sid);
    to += "\r\n";
}

void append_unsubscribe(std::string& to, std::uint64_t sid) {
    to += "UNSUB ";
    append_number(to, sid);
    to += "\r\n";
}

}  // namespace weft::detail::nats

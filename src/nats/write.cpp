// write.cpp - spells what a client sends, and checks that nothing in it can be taken for more.
#include <algorithm>
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

void append_number(std::string& to, std::uint64_t n) {
    char digits[20];
    const auto end = std::to_chars(digits, std::end(digits), n).ptr;
    to.append(digits, end);
}

[[noreturn]] void refuse_subject(std::string_view subject, const char* why) {
    std::string shown;
    for (const char c : subject.substr(0, 60)) shown += c >= ' ' && c <= '~' ? c : '?';
    throw error(nats_errc::bad_subject, "nats: the subject '" + shown + "' " + why);
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
    if (check_tokens(subject)) refuse_subject(subject, "has a wildcard");
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
    to += header_block.empty() ? "PUB " : "HPUB ";
    to += subject;
    if (!reply.empty()) (to += ' ') += reply;
    if (!header_block.empty()) {
        to += ' ';
        append_number(to, header_block.size());
    }
    to += ' ';
    append_number(to, header_block.size() + payload.size());
    to += "\r\n";
    to += header_block;
    to += payload;
    to += "\r\n";
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

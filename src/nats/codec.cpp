// codec.cpp - reads what a NATS server sends, piece by piece.
#include "nats/codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include <weft/nats/error.hpp>

namespace weft::detail::nats {

using weft::nats::error;
using weft::nats::nats_errc;

namespace {

constexpr std::string_view blanks = " \t";
constexpr const char* too_long = "a payload is longer than its announced size";

/// Of at most 18 digits, so it cannot overflow.
inline std::optional<std::uint64_t> number(std::string_view text) noexcept {
    if (text.empty() || text.size() > 18) return std::nullopt;
    std::uint64_t n = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        n = n * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return n;
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

std::string_view next_word(std::string_view& rest) noexcept {
    const char* at = rest.data();
    const char* const end = at + rest.size();
    while (at != end && is_blank(*at)) ++at;
    const char* const word = at;
    while (at != end && !is_blank(*at)) ++at;
    rest = {at, static_cast<std::size_t>(end - at)};
    return {word, static_cast<std::size_t>(at - word)};
}

bool is_verb(std::string_view word, std::string_view verb) noexcept {
    return std::ranges::equal(word, verb, {}, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}

/// A text of a server as a part of one printable line.
std::string quoted(std::string_view text) {
    std::string q = "'";
    for (const char c : text.substr(0, 60)) q += c >= ' ' && c <= '~' ? c : '?';
    return q + (text.size() > 60 ? "...'" : "'");
}

}  // namespace

void parser::refuse(const std::string& why) {
    state_ = state::broken;
    throw error(nats_errc::protocol_error, why);
}

void parser::feed(std::string_view bytes, listener_of_parser& to) {
    while (!bytes.empty()) {
        switch (state_) {
            case state::line:
                if (!take_whole_message(bytes, to)) take_line(bytes, to);
                break;
            case state::payload: take_payload(bytes); break;
            case state::end: take_end(bytes, to); break;
            case state::broken: return;
        }
    }
}

/// Takes what nearly all input is: a message without headers of which all has come, with one blank
/// between words. \returns  false, with nothing taken, if it is anything else.
bool parser::take_whole_message(std::string_view& bytes, listener_of_parser& to) {
    constexpr std::string_view verb = "MSG ";
    if (!held_.empty() || !bytes.starts_with(verb)) return false;
    const char* at = bytes.data() + verb.size();
    const char* const end = bytes.data() + std::min(bytes.size(), max_line);
    const auto word = [&] {
        const char* const begin = at;
        while (at != end && static_cast<unsigned char>(*at) > ' ') ++at;
        return std::string_view(begin, static_cast<std::size_t>(at - begin));
    };
    const auto blank_follows = [&] { return at != end && *at++ == ' '; };
    arrival m;
    m.subject = word();
    if (m.subject.empty() || !blank_follows()) return false;
    const auto sid = number(word());
    if (!sid || !blank_follows()) return false;
    m.sid = *sid;
    auto last = word();
    if (at != end && *at == ' ') {
        ++at;
        m.reply = std::exchange(last, word());
        if (m.reply.empty()) return false;
    }
    const auto size = number(last);
    if (!size || *size > max_message_) return false;
    const auto before = static_cast<std::size_t>(at - bytes.data()) + 2;  // with CR and LF
    if (bytes.size() < before + *size + 2) return false;
    const char* const payload = bytes.data() + before;
    if (at == end || at[0] != '\r' || at[1] != '\n' || payload[*size] != '\r' || payload[*size + 1] != '\n') return false;
    m.payload = {payload, *size};
    bytes.remove_prefix(before + *size + 2);
    to.on_message(m);
    return true;
}

void parser::take_line(std::string_view& bytes, listener_of_parser& to) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    const auto so_far = held_.size() + piece.size();
    if (so_far > max_line) {
        const auto begin = (held_.substr(0, 4) + std::string(piece.substr(0, 4))).substr(0, 4);
        if (!is_verb(begin, "INFO") || so_far > max_info) refuse("a line of more than " + std::to_string(max_line) + " bytes");
    }
    if (end == std::string_view::npos) {
        held_ += piece;
        bytes = {};
        return;
    }
    bytes.remove_prefix(end + 1);
    if (held_.empty()) return read_line(piece, bytes, to);
    held_ += piece;
    const auto line = std::exchange(held_, {});
    read_line(line, bytes, to);
}

void parser::read_line(std::string_view line, std::string_view& bytes, listener_of_parser& to) {
    if (!line.ends_with('\r')) refuse("a line without CR: " + quoted(line));
    line.remove_suffix(1);
    auto rest = line;
    const auto verb = next_word(rest);
    if (is_verb(verb, "MSG")) return begin_message(read_head(rest, false), bytes, to);
    if (is_verb(verb, "HMSG")) return begin_message(read_head(rest, true), bytes, to);
    if (is_verb(verb, "PING")) return to.on_ping();
    if (is_verb(verb, "PONG")) return to.on_pong();
    if (is_verb(verb, "+OK")) return;
    if (is_verb(verb, "INFO")) return to.on_info(rest.substr(std::min(rest.find_first_not_of(blanks), rest.size())));
    if (is_verb(verb, "-ERR")) return to.on_error(rest.empty() ? rest : rest.substr(1));
    refuse("an unknown word: " + quoted(line));
}

/// <subject> <sid> [reply] [header size] <size>
parser::head parser::read_head(std::string_view words, bool with_headers) {
    std::array<std::string_view, 6> all;
    std::size_t n = 0;
    for (auto rest = words; n < all.size(); ++n)
        if ((all[n] = next_word(rest)).empty()) break;
    const std::size_t least = with_headers ? 4 : 3;
    if (n != least && n != least + 1) refuse("a message with a wrong head: " + quoted(words));
    const auto sid = number(all[1]);
    const auto size = number(all[n - 1]);
    const auto head_size = with_headers ? number(all[n - 2]) : std::optional<std::uint64_t>(0);
    if (!sid || !size || !head_size || *head_size > *size) refuse("a message with a wrong head: " + quoted(words));
    if (*size > max_message_)
        refuse("a message of " + std::to_string(*size) + " bytes; at most " + std::to_string(max_message_) + " are taken");
    return {*sid, all[0], n > least ? all[2] : std::string_view(), *head_size, *size};
}

void parser::begin_message(const head& h, std::string_view& bytes, listener_of_parser& to) {
    if (bytes.size() >= h.size + 2) {
        if (bytes[h.size] != '\r' || bytes[h.size + 1] != '\n') refuse(too_long);
        const auto all = bytes.substr(0, h.size);
        bytes.remove_prefix(h.size + 2);
        return report(h, all.substr(0, h.header_size), all.substr(h.header_size), nullptr, to);
    }
    subject_ = h.subject;
    reply_ = h.reply;
    head_ = {h.sid, subject_, reply_, h.header_size, h.size};
    left_ = h.size;
    state_ = left_ != 0 ? state::payload : state::end;
    if (left_ == 0) left_ = 2;
}

void parser::take_payload(std::string_view& bytes) {
    if (header_block_.size() < head_.header_size) {
        const auto part = bytes.substr(0, head_.header_size - header_block_.size());
        header_block_ += part;
        bytes.remove_prefix(part.size());
        left_ -= part.size();
    }
    const auto piece = bytes.substr(0, left_);
    payload_ += piece;
    bytes.remove_prefix(piece.size());
    left_ -= piece.size();
    if (left_ != 0) return;
    state_ = state::end;
    left_ = 2;
}

void parser::take_end(std::string_view& bytes, listener_of_parser& to) {
    for (; left_ != 0; --left_, bytes.remove_prefix(1)) {
        if (bytes.empty()) return;
        if (bytes.front() != (left_ == 2 ? '\r' : '\n')) refuse(too_long);
    }
    state_ = state::line;
    const auto header_block = std::exchange(header_block_, {});
    auto payload = std::exchange(payload_, {});
    report(head_, header_block, payload, &payload, to);
}

void parser::report(const head& h, std::string_view header_block, std::string_view payload, std::string* gathered,
                    listener_of_parser& to) {
    if (h.header_size == 0) [[likely]]
        return to.on_message({h.sid, h.subject, h.reply, payload, gathered, nullptr});
    weft::nats::headers headers;
    try {
        headers = read_headers(header_block);
    } catch (...) {
        state_ = state::broken;
        throw;
    }
    to.on_message({h.sid, h.subject, h.reply, payload, gathered, &headers});
}

weft::nats::message arrival::take() const {
    return {std::string(subject), std::string(reply), gathered ? std::move(*gathered) : std::string(payload),
            headers ? std::move(*headers) : weft::nats::headers()};
}

weft::nats::headers read_headers(std::string_view block) {
    constexpr std::string_view version = "NATS/1.0";
    constexpr std::string_view end_of_line = "\r\n";
    if (!block.starts_with(version)) throw error(nats_errc::protocol_error, "headers of another version: " + quoted(block));
    weft::nats::headers all;
    const auto line = [&] {
        const auto end = block.find(end_of_line);
        if (end == std::string_view::npos) throw error(nats_errc::protocol_error, "headers without an end");
        const auto l = block.substr(0, end);
        block.remove_prefix(end + end_of_line.size());
        return l;
    };
    const auto trimmed = [](std::string_view s) {
        while (!s.empty() && blanks.find(s.front()) != std::string_view::npos) s.remove_prefix(1);
        while (!s.empty() && blanks.find(s.back()) != std::string_view::npos) s.remove_suffix(1);
        return s;
    };
    auto status = line().substr(version.size());
    if (const auto code = next_word(status); !code.empty()) {
        all.add("Status", std::string(code));
        if (const auto words = trimmed(status); !words.empty()) all.add("Description", std::string(words));
    }
    for (;;) {
        const auto l = line();
        if (l.empty()) return all;
        const auto colon = l.find(':');
        if (colon == std::string_view::npos) throw error(nats_errc::protocol_error, "a header without a colon: " + quoted(l));
        all.add(std::string(l.substr(0, colon)), std::string(trimmed(l.substr(colon + 1))));
    }
}

}  // namespace weft::detail::nats

namespace weft::nats {

std::string_view headers::get(std::string_view name) const noexcept {
    const auto found = std::ranges::find(fields_, name, &field::first);
    return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

int message::status() const noexcept {
    int code = 0;
    const auto text = headers.get("Status");
    std::from_chars(text.data(), text.data() + text.size(), code);
    return code;
}

}  // namespace weft::nats

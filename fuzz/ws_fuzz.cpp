// ws_fuzz.cpp - a WebSocket peer that says anything: cuts change nothing, and no limit is exceeded.
//
// What was read is written again, and must be read as the same. The first byte chooses the side, whether
// messages may be compressed, and whether the rest is the header field by which two ends agree on
// compression. The second byte chooses the cuts. The rest is what the peer sends.
#include <optional>
#include <vector>

#include "targets.hpp"
#include "ws/deflate.hpp"
#include "ws/extension.hpp"
#include "ws/frame.hpp"

namespace weft::fuzz {
namespace {

namespace ws = weft::detail::ws;
using event = ws::frame_reader::event;

constexpr std::size_t most = 1000;  // of a message
constexpr ws::mask_key key{0x12, 0x00, 0xfe, 0x7a};

struct said {
    event what;
    bool is_text = false, is_compressed = false;
    std::string payload;
    bool operator==(const said&) const = default;
};

struct journal {
    std::vector<said> events;
    std::optional<weft::ws::errc> refused;
};

void check_close(std::string_view payload) {
    if (payload.empty()) return;
    require(payload.size() >= 2, "a close frame of one byte was taken");
    const auto code = static_cast<unsigned>(static_cast<std::uint8_t>(payload[0])) << 8 | static_cast<std::uint8_t>(payload[1]);
    require(ws::is_close_code(code), "a close frame has a code that none may have", std::to_string(code));
    require(ws::is_utf8(payload.substr(2)), "the reason of a close frame is not UTF-8");
}

said of_message(ws::frame_reader& from) {
    said m{event::message, from.is_text(), from.is_compressed(), from.take_payload()};
    if (!m.is_compressed) {
        require(m.payload.size() <= most, "a message is longer than allowed");
        require(!m.is_text || ws::is_utf8(m.payload), "a text is not UTF-8");
    }
    return m;
}

said of_control(event what, const ws::frame_reader& from) {
    require(from.control().size() <= ws::most_of_control, "a control frame is longer than allowed");
    if (what == event::close) check_close(from.control());
    return {what, false, false, std::string(from.control())};
}

journal heard(std::string_view sent, ws::side self, bool may_be_compressed, std::size_t piece) {
    ws::frame_reader reader(self, {.max_message = most, .may_be_compressed = may_be_compressed});
    journal j;
    while (!sent.empty()) {
        auto now = sent.substr(0, piece);
        sent.remove_prefix(now.size());
        for (;;) {
            const auto what = reader.next(now);
            if (what == event::more) break;
            if (what == event::broken) {
                j.refused = reader.failure();
                require(*j.refused != weft::ws::errc{}, "a refusal without a reason");
                require(reader.next(now) == event::broken, "a reader goes on after what it has refused");
                return j;
            }
            j.events.push_back(what == event::message ? of_message(reader) : of_control(what, reader));
        }
        require(now.empty(), "bytes are left, though the reader asks for more");
    }
    return j;
}

/// Writes what was read as one frame, which `to` must read as the same.
void send_again(const said& m, ws::side to) {
    std::string frame;
    const auto what = m.what == event::ping    ? ws::opcode::ping
                      : m.what == event::pong  ? ws::opcode::pong
                      : m.what == event::close ? ws::opcode::close
                      : m.is_text              ? ws::opcode::text
                                               : ws::opcode::binary;
    ws::append_frame(frame, {what, m.is_compressed, to == ws::side::server ? std::optional(key) : std::nullopt}, m.payload);
    const auto back = heard(frame, to, true, 3);
    require(!back.refused && back.events.size() == 1 && back.events[0] == m, "a frame is not read as what was written");
}

/// Expands a message that anybody has compressed; then compresses the text here, and expands that.
void expand(const said& m, ws::deflate_codec& codec, ws::deflate_codec& other) {
    std::string text;
    const auto wrong = codec.decompress(m.payload, most, text);
    if (wrong) {
        require(*wrong == weft::ws::errc::invalid_compression || *wrong == weft::ws::errc::message_too_big,
                "a decompression fails for another reason");
        return;
    }
    require(text.size() <= most, "a message is longer than allowed once it is expanded");
    std::string back;
    require(!other.decompress(other.compress(text), most, back) && back == text,
            "a text is not what it was before it was compressed");
}

/// Reads the header field by which two ends agree on compression, as the server and as the client.
void agree(std::string_view field) {
    for (const char c : field)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return;
    http::headers asked;
    asked.add("Sec-WebSocket-Extensions", field);
    const ws::deflate_wishes wishes{.takeover = true, .window = 12};
    const auto fits = [](const ws::deflate_terms& t) {
        return t.send_window >= 8 && t.send_window <= 15 && t.receive_window >= 8 && t.receive_window <= 15;
    };
    if (const auto agreed = ws::choose_offer(asked, wishes)) {
        require(fits(agreed->terms), "an offer is accepted with a window that zlib has not");
        http::headers answer;
        answer.add("Sec-WebSocket-Extensions", agreed->answer);
        bool is_wrong = false;
        const auto back = ws::read_answer(answer, &wishes, is_wrong);
        require(back && !is_wrong, "a server's own answer is refused", agreed->answer);
        require(agreed->answer.starts_with("permessage-deflate"), "an answer that names another extension", agreed->answer);
    }
    bool is_wrong = false;
    const auto terms = ws::read_answer(asked, &wishes, is_wrong);
    require(is_wrong || !terms || fits(*terms), "an answer has a window that zlib has not");
}

}  // namespace

void ws(bytes data) {
    if (data.size() < 3 || data.size() > 1 << 16) return;
    const auto self = data[0] & 1 ? detail::ws::side::client : detail::ws::side::server;
    const bool may_be_compressed = data[0] & 2, takes_over = data[0] & 4;
    const auto sent = text_of(data.subspan(2));
    if (data[0] & 8) return agree(sent);
    const auto whole = heard(sent, self, may_be_compressed, sent.size());
    const auto cut = heard(sent, self, may_be_compressed, 1 + data[1] % 64);
    require(whole.events == cut.events, "cuts change what is read");
    require(whole.refused == cut.refused, "cuts change whether bytes are refused, or why");
    detail::ws::deflate_codec codec({.receive_takeover = takes_over}, 1),
        other({.send_takeover = takes_over, .receive_takeover = takes_over}, 6);
    for (const auto& m : whole.events) {
        for (const auto to : {detail::ws::side::server, detail::ws::side::client}) send_again(m, to);
        if (m.is_compressed) expand(m, codec, other);
    }
}

}  // namespace weft::fuzz

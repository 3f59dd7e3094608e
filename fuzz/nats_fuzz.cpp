// nats_fuzz.cpp - a NATS server that says anything: cuts change nothing, and what is refused is so with one line.
//
// The first byte chooses the cuts; the rest is what the server sends.
#include <weft/nats/error.hpp>

#include <vector>

#include "nats/codec.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

using weft::nats::message;

constexpr std::size_t longest_message = 1 << 16;

struct journal final : weft::detail::nats::listener_of_parser {
    void on_message(const weft::detail::nats::arrival& m) override { said.push_back({std::to_string(m.sid), m.take()}); }
    void on_info(std::string_view json) override { add("info", json); }
    void on_ping() override { add("ping"); }
    void on_pong() override { add("pong"); }
    void on_error(std::string_view text) override { add("error", text); }
    void add(std::string what, std::string_view text = {}) {
        said.push_back({std::move(what), {.subject = {}, .reply = {}, .payload = std::string(text), .headers = {}}});
    }

    std::vector<std::pair<std::string, message>> said;
    std::string refused;
};

journal parsed(std::string_view sent, std::size_t piece) {
    weft::detail::nats::parser p(longest_message);
    journal j;
    try {
        for (; !sent.empty(); sent.remove_prefix(std::min(piece, sent.size()))) p.feed(sent.substr(0, piece), j);
    } catch (const weft::nats::error& e) {
        j.refused = e.what();
        require_one_line(j.refused);
    }
    return j;
}

/// What may be published is one message to a server, whatever its payload and headers are.
void publish_again(const message& m) {
    try {
        weft::detail::nats::check_subject(m.subject);
        weft::detail::nats::check_headers(m.headers);
    } catch (const weft::nats::error& e) {
        require_one_line(e.what());
        return;
    }
    const auto block = weft::detail::nats::write_headers(m.headers);
    const auto total = std::to_string(block.size() + m.payload.size());
    const auto head = block.empty() ? "MSG " + m.subject + " 1 " + total
                                    : "HMSG " + m.subject + " 1 " + std::to_string(block.size()) + " " + total;
    if (head.size() > weft::detail::nats::parser::max_line || block.size() + m.payload.size() > longest_message) return;
    const auto back = parsed(head + "\r\n" + block + m.payload + "\r\n", 7);
    require(back.refused.empty() && back.said.size() == 1, "a message is not read as one", back.refused);
    require(back.said[0].second.payload == m.payload, "a payload has changed");
    require(back.said[0].second.headers.size() == m.headers.size(), "headers have become more or fewer");
}

}  // namespace

void nats(bytes data) {
    if (data.size() < 2 || data.size() > longest_message) return;
    const auto sent = text_of(data.subspan(1));
    const auto whole = parsed(sent, sent.size());
    const auto cut = parsed(sent, 1 + data[0] % 64);
    require(whole.said == cut.said, "cuts change what is reported");
    require(whole.refused.empty() == cut.refused.empty(), "cuts decide whether bytes are refused", whole.refused + cut.refused);
    for (const auto& [what, m] : whole.said) publish_again(m);
}

}  // namespace weft::fuzz

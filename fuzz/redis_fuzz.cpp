// redis_fuzz.cpp - a server that says anything: cuts change nothing, a client gets what was said or one line why not.
//
// The first byte chooses what is done, the second the cuts; the rest is what the server sends.
#include <weft/redis/client.hpp>
#include <weft/weft.hpp>

#include <optional>
#include <vector>

#include "redis/codec.hpp"
#include "redis/refusal.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

using weft::redis::value;

constexpr std::size_t longest_reply = 1 << 16;

/// What the decoder makes of bytes that come in pieces.
struct outcome {
    std::vector<value> replies;
    std::string refused;  // empty: it wants more

    bool operator==(const outcome&) const = default;
};

outcome decoded(std::string_view sent, std::size_t piece) {
    weft::detail::redis::decoder d(longest_reply);
    outcome o;
    try {
        while (!sent.empty()) {
            const auto now = sent.substr(0, piece);
            sent.remove_prefix(now.size());
            d.feed(std::as_bytes(std::span(now)));
            while (auto v = d.next()) o.replies.push_back(std::move(*v));
        }
    } catch (const std::runtime_error& e) {
        o.refused = e.what();
        require_one_line(o.refused);
    }
    return o;
}

std::size_t depth_of(const value& v) {
    std::size_t deepest = 0;
    if (const auto* const elements = std::get_if<weft::redis::array>(&v.content()))
        for (const auto& e : *elements) deepest = std::max(deepest, depth_of(e));
    return deepest + 1;
}

void read_replies(std::string_view sent, std::size_t piece) {
    const auto whole = decoded(sent, sent.size() + 1);
    const auto cut = decoded(sent, piece);
    require(whole.replies == cut.replies, "cuts change the replies");
    require(whole.refused.empty() == cut.refused.empty(), "cuts decide whether bytes are refused", whole.refused + cut.refused);
    for (const auto& v : whole.replies) require(depth_of(v) <= 9, "a reply nested deeper than a fiber's stack was measured for");
}

/// A command is an array of strings, and so a reply that a decoder reads.
void write_commands(std::string_view sent, std::size_t words_each) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < sent.size(); i += words_each) texts.emplace_back(sent.substr(i, words_each));
    const std::vector<weft::redis::argument> words(texts.begin(), texts.end());
    static_cast<void>(weft::detail::redis::command_rules().refusal(words));
    if (words.empty()) return;
    std::string spelled;
    weft::detail::redis::append_command(spelled, words);
    const auto back = decoded(spelled, 7);
    require(back.refused.empty() && back.replies.size() == 1, "a command is not spelled as one array", back.refused);
    const auto& elements = back.replies[0].elements();
    require(elements.size() == texts.size(), "a command has got another number of words");
    for (std::size_t i = 0; i < texts.size(); ++i)
        require(elements[i].text() == texts[i], "a word of a command has changed", texts[i]);
}

/// Runs for the whole process: making one for each input would be most of the work.
weft::runtime& here() {
    static weft::runtime rt({.workers = 1});
    return rt;
}

/// Takes one connection, waits for commands, answers with `sent`, and closes.
void serve_once(tcp::listener& at, std::string_view sent, std::size_t piece) {
    auto peer = at.accept();
    std::byte asked[4096];
    std::error_code ignored;
    static_cast<void>(peer.read_some(asked, ignored));
    for (; !sent.empty() && !ignored; sent.remove_prefix(std::min(piece, sent.size())))
        peer.write_all(sent.substr(0, piece), ignored);
}

/// Through a client, its connection and the loopback.
void ask_a_server(std::string_view sent, std::size_t piece) {
    constexpr std::size_t asked = 3;
    const auto said = decoded(sent, sent.size() + 1);
    here().run([&] {
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        auto server = weft::spawn([&] { serve_once(listener, sent, piece); });
        try {
            weft::redis::client db("redis://127.0.0.1:" + std::to_string(listener.local().port),
                                   {.connections = 1, .max_reply_bytes = longest_reply});
            const auto got = weft::with_timeout(std::chrono::seconds(20), [&] {
                return db.pipeline({{"GET", "a"}, {"GET", "b"}, {"GET", "c"}});
            });
            require(got.size() == asked && said.replies.size() >= asked, "a client has got more replies than were sent");
            for (std::size_t i = 0; i < asked; ++i)
                require(got[i] == said.replies[i], "a client has got another reply than was sent");
        } catch (const weft::redis::error& e) {
            require_one_line(e.what());
            require(said.replies.size() != asked || !said.refused.empty(), "a client has refused what is right", e.what());
        }
        server.join();
    });
}

}  // namespace

void redis(bytes data) {
    if (data.size() < 2 || data.size() > longest_reply / 2) return;
    const auto sent = text_of(data.subspan(2));
    const std::size_t piece = 1 + data[1] % 64;
    switch (data[0] % 16) {
        case 0: return ask_a_server(sent, piece);
        case 1:
        case 2: return write_commands(sent, piece);
        default: return read_replies(sent, piece);
    }
}

}  // namespace weft::fuzz

// http_fuzz.cpp - any bytes, cut anywhere, through the request decoder: no crash, and neither the cuts nor
// what the decoder has seen before change anything.
//
// The first byte chooses the cuts, the rest is what a client sends. The decoder is all that reads a client's bytes: heads, bodies of a
// known length and chunked ones.
#include "http/support/decoding.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

using namespace weft::test;

/// The head limit is above the input's length, the body limit below: cuts decide only when, not whether, a limit is noticed.
constexpr weft::detail::decode_limits limits{.max_header_bytes = 8192, .max_body_bytes = 256};

std::string in_words(const transcript& t) {
    std::string text =
        "\n  refused " + std::to_string(t.refused) + " (" + t.words + "), " + std::to_string(t.expectations) + " expectations";
    for (const auto& q : t.requests) text += "\n    " + q;
    return text;
}

}  // namespace

void http(bytes data) {
    if (data.size() < 2 || data.size() > 4096) return;
    const auto sent = text_of(data.subspan(1));
    auto whole = decode(sent, limits);
    auto cut = decode_in_pieces(sent, 1 + data[0] % 64, limits);
    decoding twice(limits);
    twice.receive(sent);
    twice.restart();
    twice.receive(sent);
    auto again = twice.result();
    whole.expectations = cut.expectations = again.expectations = 0;  // a body that came along with its head was not waited for
    if (!(whole == cut) || whole.stored != cut.stored) broken("whole and cut differ:" + in_words(whole) + in_words(cut));
    if (!(whole == again) || whole.stored != again.stored) broken("the second time differs:" + in_words(whole) + in_words(again));
    if (whole.refused != 0) require_one_line(whole.words);
}

}  // namespace weft::fuzz

// http_fuzz.cpp - any bytes, cut anywhere, through the request decoder: no crash, and the cuts change nothing.
//
// The first byte chooses the cuts, the rest is what a client sends. Build and run: make fuzz
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "http/support/decoding.hpp"

namespace {

using namespace weft::test;

/// The head limit is above -max_len, the body limit below: cuts decide only when, not whether, a limit is noticed.
constexpr weft::detail::decode_limits limits{.max_header_bytes = 8192, .max_body_bytes = 256};

void require_equal(const transcript& whole, const transcript& cut) {
    if (whole == cut) return;
    for (const auto* t : {&whole, &cut}) {
        std::fprintf(stderr, "refused %d (%s), %u expectations\n", t->refused, t->words.c_str(), t->expectations);
        for (const auto& q : t->requests) std::fprintf(stderr, "  %s\n", q.c_str());
    }
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    auto whole = decode(bytes, limits);
    auto cut = decode_in_pieces(bytes, 1 + data[0] % 64, limits);
    whole.expectations = cut.expectations = 0;     // a body that came along with its head was not waited for
    require_equal(whole, cut);
    return 0;
}

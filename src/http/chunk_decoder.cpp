// chunk_decoder.cpp - implements the state table of chunk_decoder.hpp, and the limits.
#include "http/chunk_decoder.hpp"

#include <algorithm>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

bool is_text(char c) noexcept { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }

}  // namespace

refusal chunk_decoder::put(std::string_view& bytes, std::string& body, const decode_limits& limits) {
    while (!bytes.empty() && state_ != state::done) {
        if (state_ == state::data) {
            take_data(bytes, body);
            continue;
        }
        if (!take_byte(bytes.front())) return {400, "bad chunk"};
        bytes.remove_prefix(1);
        if (left_ > limits.max_body_bytes - body.size()) return {413, "body too large"};
        if (overhead_ > limits.max_header_bytes) return {431, "chunk extensions or trailers too large"};
    }
    return {};
}

void chunk_decoder::take_data(std::string_view& bytes, std::string& body) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    body.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    skip(n);
}

bool chunk_decoder::take_byte(char c) noexcept {
    switch (state_) {
        case state::size_begin: return take_digit(c);
        case state::size:
            if (c == ';') return expect(true, state::extension_name);
            return c == '\r' ? expect(true, state::size_lf) : take_digit(c);
        case state::extension_name: return ++overhead_, expect(is_token_char(c), state::extension);
        case state::extension: return ++overhead_, c == '\r' ? expect(true, state::size_lf) : is_text(c);
        case state::size_lf: digits_ = 0; return expect(c == '\n', left_ > 0 ? state::data : state::trailer_begin);
        case state::data_cr: return expect(c == '\r', state::data_lf);
        case state::data_lf: return expect(c == '\n', state::size_begin);
        case state::trailer_begin: return c == '\r' ? expect(true, state::end_lf) : expect(is_token_char(c), state::trailer_name);
        case state::trailer_name: return ++overhead_, c == ':' ? expect(true, state::trailer_value) : is_token_char(c);
        case state::trailer_value: return ++overhead_, c == '\r' ? expect(true, state::trailer_lf) : is_text(c);
        case state::trailer_lf: return ++overhead_, expect(c == '\n', state::trailer_begin);
        case state::end_lf: return expect(c == '\n', state::done);
        case state::data:
        case state::done: break;
    }
    return false;
}

bool chunk_decoder::take_digit(char c) noexcept {
    // chosen: enough for 64 bits; leading zeros are not worth more digits
    constexpr unsigned max_digits = 16;
    const int digit = hex_digit(c);
    if (digit < 0 || ++digits_ > max_digits) return false;
    left_ = left_ * 16 + static_cast<unsigned>(digit);
    return expect(true, state::size);
}

bool chunk_decoder::expect(bool fits, state next) noexcept {
    if (fits) state_ = next;
    return fits;
}

}  // namespace weft::detail

#include "http/client/address_block.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace weft::detail {

address_block::address address_block::parse_address(std::string_view text) noexcept {
    std::array<char, INET6_ADDRSTRLEN> terminated = {};
    if (text.size() >= terminated.size()) return {};
    std::copy(text.begin(), text.end(), terminated.begin());
    address a;
    if (::inet_pton(AF_INET, terminated.data(), a.bytes.data()) == 1)
        a.bits = 32;
    else if (::inet_pton(AF_INET6, terminated.data(), a.bytes.data()) == 1)
        a.bits = 128;
    return a;
}

std::optional<address_block> address_block::parse(std::string_view text) noexcept {
    const auto slash = text.find('/');
    if (slash == text.npos) return std::nullopt;
    address_block b;
    b.first_ = parse_address(text.substr(0, slash));
    const auto digits = text.substr(slash + 1);
    const auto [last, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), b.prefix_);
    if (b.first_.bits == 0 || bad != std::errc{} || last != digits.data() + digits.size() || b.prefix_ > b.first_.bits)
        return std::nullopt;
    return b;
}

bool address_block::has(std::string_view host) const noexcept {
    const auto a = parse_address(host);
    if (a.bits != first_.bits) return false;
    const auto whole = prefix_ / 8, rest = prefix_ % 8;
    if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, first_.bytes.begin())) return false;
    return rest == 0 || ((a.bytes[whole] ^ first_.bytes[whole]) >> (8 - rest)) == 0;
}

}  // namespace weft::detail

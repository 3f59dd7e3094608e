// address_block.hpp - the IP addresses that begin with the same bits, as in 10.0.0.0/8 (RFC 4632, 3.1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::detail {

class address_block {
public:
    /// \returns  nothing if the text is no address, a '/' and a number of bits that the address has.
    static std::optional<address_block> parse(std::string_view text) noexcept;

    /// Whether `host` is an address, without brackets, and in the block. A name is in none.
    bool has(std::string_view host) const noexcept;

private:
    struct address {
        std::array<std::uint8_t, 16> bytes = {};
        unsigned bits = 0;  // 32 or 128; 0: none
    };
    static address parse_address(std::string_view text) noexcept;

    address first_;
    unsigned prefix_ = 0;
};

}  // namespace weft::detail

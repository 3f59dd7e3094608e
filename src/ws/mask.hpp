// mask.hpp - the mask of the frames that clients send. [RFC6455, 5.3]
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::detail::ws {

using mask_key = std::array<std::uint8_t, 4>;

/// Puts the mask on, or takes it off, from the `offset`th byte of a payload on.
inline void apply_mask(char* at, std::size_t size, mask_key key, std::uint64_t offset = 0) noexcept {
    std::uint32_t four;
    std::memcpy(&four, key.data(), sizeof four);
    const auto shift = static_cast<int>(offset % 4 * 8);
    // The key as the bytes from `offset` on see it.
    four = std::endian::native == std::endian::little ? std::rotr(four, shift) : std::rotl(four, shift);
    const std::uint64_t eight = four | std::uint64_t{four} << 32;
    std::size_t n = 0;
    for (std::uint64_t word; n + sizeof word <= size; n += sizeof word) {  // compilers make vectors of it
        std::memcpy(&word, at + n, sizeof word);
        word ^= eight;
        std::memcpy(at + n, &word, sizeof word);
    }
    std::array<char, 4> rest;
    std::memcpy(rest.data(), &four, sizeof four);
    for (std::size_t i = 0; n < size; ++n, ++i) at[n] = static_cast<char>(at[n] ^ rest[i % 4]);
}

}  // namespace weft::detail::ws

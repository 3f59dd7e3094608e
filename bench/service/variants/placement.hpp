// placement.hpp - which of several servers has a user: the same one in every process and program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace variants {

/// \returns  the index of the server, by FNV-1a of the id.
inline std::size_t place_of(std::string_view id, std::size_t servers) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<std::size_t>(hash % servers);
}

}  // namespace variants

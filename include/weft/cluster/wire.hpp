// wire.hpp - how messages are named, numbered and written on their way between nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::cluster {

/// The versions of a message that a program can read. It writes each of them, too, so that programs of two
/// releases understand each other: the newest that both know is used.
struct wire_versions {
    std::uint32_t newest;
    std::uint32_t oldest;

    constexpr explicit wire_versions(std::uint32_t newest_and_oldest) noexcept
        : newest(newest_and_oldest), oldest(newest_and_oldest) {}
    constexpr wire_versions(std::uint32_t newest_known, std::uint32_t oldest_known) noexcept
        : newest(newest_known), oldest(oldest_known) {}
    friend constexpr bool operator==(const wire_versions&, const wire_versions&) noexcept = default;
};

/// The name and the versions of a message between nodes; WEFT_WIRE specialises it. The C++ name of a type
/// never leaves its program.
template <class T>
struct wire_name;

/// How a T is written and read: `static void write(const T&, std::uint32_t version, std::vector<std::byte>&)`
/// appends, and `static T read(std::span<const std::byte>, std::uint32_t version)` throws for bytes that are
/// no T. <weft/cluster/json.hpp> has one for what nlohmann's JSON library converts, msgpack.hpp and protobuf.hpp
/// have others; specialise it for further formats.
template <class T>
struct wire_format;

/// Names a message: `WEFT_WIRE(account::deposit, "bank.deposit", 2)`, or `(..., 2, 1)` if version 1 can be
/// read and written, too. It stands outside of any namespace.
#define WEFT_WIRE(Type, Name, ...)                                                                                               \
    template <>                                                                                                                  \
    struct weft::cluster::wire_name<Type> {                                                                                      \
        static constexpr std::string_view name = Name;                                                                           \
        static constexpr weft::cluster::wire_versions versions{__VA_ARGS__};                                                     \
    }

/// The messages that an actor takes from other nodes: `using remote = weft::cluster::messages<deposit,
/// balance>;` in its class.
template <class... Ms>
struct messages {};

namespace detail {

/// What a message is called on the wire: FNV-1a of its name.
constexpr std::uint64_t wire_number(std::string_view name) noexcept {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
}
template <class M>
inline constexpr std::uint64_t wire_number_of = wire_number(wire_name<M>::name);

/// Different names must have different numbers.
template <class... Ms>
constexpr bool have_different_numbers() {
    if constexpr (sizeof...(Ms) > 1) {
        const std::uint64_t numbers[] = {wire_number_of<Ms>...};
        for (std::size_t i = 0; i < sizeof...(Ms); ++i)
            for (std::size_t k = 0; k < i; ++k)
                if (numbers[i] == numbers[k]) return false;
    }
    return true;
}

}  // namespace detail
}  // namespace weft::cluster

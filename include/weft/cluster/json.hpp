// json.hpp - messages that nlohmann's JSON library converts, written as CBOR.
//
// It needs <nlohmann/json.hpp> (nlohmann-json3-dev). A message has to_json() and from_json() functions, or
// NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT, which gives new fields a value that old senders do not
// know.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include <weft/cluster/detail/cbor.hpp>
#include <weft/cluster/detail/unreadable.hpp>
#include <weft/cluster/wire.hpp>

namespace weft::cluster {

template <class T>
    requires requires(nlohmann::json& j, const T& t) {
        j = t;
        j.template get<T>();
    }
struct wire_format<T> {
    static void write(const T& value, std::uint32_t /*version*/, std::vector<std::byte>& into) {
        const nlohmann::json j = value;
        const auto bytes = nlohmann::json::to_cbor(j);
        const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
        into.insert(into.end(), first, first + bytes.size());
    }
    static T read(std::span<const std::byte> bytes, std::uint32_t /*version*/) {
        detail::require_readable_cbor(bytes);
        try {
            const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
            return nlohmann::json::from_cbor(first, first + bytes.size()).template get<T>();
        } catch (const nlohmann::json::exception& e) {
            detail::refuse_bytes(e.what());
        }
    }
};

}  // namespace weft::cluster

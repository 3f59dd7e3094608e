// bytes.hpp - numbers and texts in frames: little-endian, texts with their length in front.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft::cluster::detail {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian, and so are weft's machines");

using byte_vector = std::vector<std::byte>;

template <class N>
    requires std::is_integral_v<N>
void put(byte_vector& into, N value) {
    const auto at = into.size();
    into.resize(at + sizeof(N));
    std::memcpy(into.data() + at, &value, sizeof(N));
}
inline void put(byte_vector& into, std::span<const std::byte> bytes) {
    put(into, static_cast<std::uint32_t>(bytes.size()));
    into.insert(into.end(), bytes.begin(), bytes.end());
}
inline void put(byte_vector& into, std::string_view text) { put(into, std::as_bytes(std::span(text))); }

/// Reads what put() has written. After a failure it reads zeros and empty texts.
class byte_reader {
public:
    explicit byte_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

    template <class N>
        requires std::is_integral_v<N>
    N number() noexcept {
        N value{};
        if (const auto from = take(sizeof(N)); from.size() == sizeof(N)) std::memcpy(&value, from.data(), sizeof(N));
        return value;
    }
    std::span<const std::byte> bytes() noexcept { return take(number<std::uint32_t>()); }
    std::string_view text() noexcept {
        const auto from = bytes();
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    std::span<const std::byte> rest() noexcept { return take(rest_.size()); }
    bool failed() const noexcept { return failed_; }
    bool at_end() const noexcept { return rest_.empty(); }

private:
    std::span<const std::byte> take(std::size_t n) noexcept {
        if (n > rest_.size()) {
            failed_ = true;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.first(n);
        rest_ = rest_.subspan(n);
        return taken;
    }

    std::span<const std::byte> rest_;
    bool failed_ = false;
};

}  // namespace weft::cluster::detail

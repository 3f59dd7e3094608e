#include "cluster/placed_record.hpp"

#include <span>

namespace weft::cluster::detail {

// The bytes: format(1) token(8) number(8) kind(8) version(4) next, and the state to the end.
constexpr std::uint8_t record_format = 1;

std::string placed_record::text() const {
    byte_vector bytes;
    put(bytes, record_format);
    put(bytes, token);
    put(bytes, number);
    put(bytes, kind);
    put(bytes, version);
    put(bytes, next);
    bytes.insert(bytes.end(), state.begin(), state.end());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<placed_record> placed_record::in(std::string_view text) {
    byte_reader in(std::as_bytes(std::span(text)));
    placed_record r;
    const auto format = in.number<std::uint8_t>();
    r.token = in.number<std::uint64_t>();
    r.number = in.number<std::uint64_t>();
    r.kind = in.number<std::uint64_t>();
    r.version = in.number<std::uint32_t>();
    r.next = in.text();
    const auto state = in.rest();
    if (in.failed() || format != record_format) return std::nullopt;
    r.state.assign(state.begin(), state.end());
    return r;
}

}  // namespace weft::cluster::detail

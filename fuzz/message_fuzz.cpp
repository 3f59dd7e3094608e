// message_fuzz.cpp - what a peer sends as a message of a cluster: it is refused with one line, or it is read, and is
// the same after it was written and read again.
//
// The first byte chooses the format, the rest is the message.
#include <weft/cluster/error.hpp>
#include <weft/cluster/json.hpp>

#include <optional>
#include <vector>

#if __has_include(<msgpack.hpp>)
#include <weft/cluster/msgpack.hpp>
#endif

#include "targets.hpp"

namespace weft::fuzz {
namespace {

template <class T>
std::optional<T> read(std::span<const std::byte> bytes) {
    try {
        return cluster::wire_format<T>::read(bytes, 1);
    } catch (const cluster::error& e) {
        require(e.code() == cluster::errc::bad_message, "a message was refused for another reason", e.what());
        require_one_line(e.what());
        return std::nullopt;
    }
}

/// Compares bytes, since a number that is none differs from itself.
template <class T>
void reads_what_it_writes(std::span<const std::byte> bytes) {
    const auto first = read<T>(bytes);
    if (!first) return;
    std::vector<std::byte> once, twice;
    cluster::wire_format<T>::write(*first, 1, once);
    const auto second = read<T>(once);
    require(second.has_value(), "a message that was read and written is refused");
    cluster::wire_format<T>::write(*second, 1, twice);
    require(once == twice, "a message that was read and written is another one");
}

#if __has_include(<msgpack.hpp>)
struct tree {
    std::string text;
    std::vector<tree> branches;
    std::vector<double> numbers;
    MSGPACK_DEFINE(text, branches, numbers)
};
#endif

}  // namespace

void message(bytes b) {
    if (b.empty()) return;
    const auto rest = std::as_bytes(b.subspan(1));
#if __has_include(<msgpack.hpp>)
    if (b.front() % 2 == 1) return reads_what_it_writes<tree>(rest);
#endif
    reads_what_it_writes<nlohmann::json>(rest);
}

}  // namespace weft::fuzz
